import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadSettings, type Settings } from '../../record/settings';

/** Beside the host's configuration: what hooks/nightly.sh prefers to it. */
export const nightlyConfig = (settingsPath: string): string => join(dirname(settingsPath), 'nightly.toml');

/** What the nightly job goes by. `settings`: those of `settingsPath`. Throws SettingsError. */
export function nightlySettings(settingsPath: string, settings: Settings): Settings {
  const own = nightlyConfig(settingsPath);
  return existsSync(own) ? loadSettings(own) : settings;
}

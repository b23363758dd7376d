import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { loadSettings, type Settings } from '../../record/settings';

/** A configuration beside the host's; hooks/nightly.sh uses it instead if it exists. */
export const nightlyConfig = (settingsPath: string): string => join(dirname(settingsPath), 'nightly.toml');

/** The settings of the nightly job. `settings`: those of `settingsPath`. Throws SettingsError. */
export function nightlySettings(settingsPath: string, settings: Settings): Settings {
  const own = nightlyConfig(settingsPath);
  return existsSync(own) ? loadSettings(own) : settings;
}

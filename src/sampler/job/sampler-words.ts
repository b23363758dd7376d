import type { Settings } from '../../record/settings';
import { keyValues } from './pid-file';
import { formatRunDescription, type RunDescription } from './run-description';

const NAMES = ['cluster', 'state_dir', 'run_dir'] as const;

/** Settings that the installation also keeps in hook.conf, for processes that can't read the configuration. */
export type InstalledSettings = Pick<Settings, (typeof NAMES)[number]>;

/** These settings as KEY=VALUE words of a command line; hooks/prolog.sh and listener.sh write them, too. */
export const wordsOfSettings = (settings: InstalledSettings): readonly string[] =>
  NAMES.map((name) => `${name}=${settings[name]}`);

/** Words of a sampler's command line (main.ts). */
export function samplerWords(run: RunDescription, settings: InstalledSettings): readonly string[] {
  return [...wordsOfSettings(settings), ...formatRunDescription(run).trim().split('\n')];
}

export function settingsOfWords(words: readonly string[]): Partial<InstalledSettings> {
  const values = keyValues(words.join('\n'));
  return Object.fromEntries(NAMES.flatMap((name) => (values.has(name) ? [[name, values.get(name)]] : [])));
}

import type { Settings } from '../../record/settings';
import { keyValues } from './pid-file';
import { formatRunDescription, type RunDescription } from './run-description';

const NAMES = ['cluster', 'state_dir', 'run_dir'] as const;

/** What the installation knows without the configuration (hook.conf), for who can't read it. */
export type InstalledSettings = Pick<Settings, (typeof NAMES)[number]>;

/** KEY=VALUE words of a command line; hooks/prolog.sh and listener.sh write them, too. */
export const wordsOfSettings = (settings: InstalledSettings): readonly string[] =>
  NAMES.map((name) => `${name}=${settings[name]}`);

/** Those of a sampler (main.ts). */
export function samplerWords(run: RunDescription, settings: InstalledSettings): readonly string[] {
  return [...wordsOfSettings(settings), ...formatRunDescription(run).trim().split('\n')];
}

export function settingsOfWords(words: readonly string[]): Partial<InstalledSettings> {
  const values = keyValues(words.join('\n'));
  return Object.fromEntries(NAMES.flatMap((name) => (values.has(name) ? [[name, values.get(name)]] : [])));
}

import type { Settings } from '../../record/settings';
import { keyValues } from './pid-file';
import { formatRunDescription, type RunDescription } from './run-description';

/** What the installation knows without the configuration (hook.conf), for a sampler that can't read it. */
export type InstalledSettings = Pick<Settings, 'cluster' | 'state_dir' | 'run_dir'>;

/** The KEY=VALUE words of a sampler's command line (main.ts); hooks/prolog.sh writes them, too. */
export function samplerWords(run: RunDescription, settings: InstalledSettings): readonly string[] {
  return [
    `cluster=${settings.cluster}`,
    `state_dir=${settings.state_dir}`,
    `run_dir=${settings.run_dir}`,
    ...formatRunDescription(run).trim().split('\n'),
  ];
}

export function settingsOfWords(words: readonly string[]): Partial<InstalledSettings> {
  const values = keyValues(words.join('\n'));
  const names = ['cluster', 'state_dir', 'run_dir'] as const;
  return Object.fromEntries(names.flatMap((name) => (values.has(name) ? [[name, values.get(name)]] : [])));
}

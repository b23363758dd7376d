import { NODE_MAJOR, tuningFlags } from '../../base/node-flags';
import type { Settings } from '../../record/settings';

/** The variables of hook.conf, a file that the hooks source (hooks/common.sh), in their order there. */
const NAMES = [
  'state',
  'run',
  'settings',
  'node',
  'program',
  // Seconds that the prolog waits for the sampler; "0": it does not wait.
  'arm_wait',
  // "off", "auto" or "own": a cgroup for each job (hooks/cgroup.sh).
  'cgroup',
  // "job" or "node"; "node": the prolog leaves its job to the service if that runs.
  'scope',
  // The cluster's name, for a sampler that can't read the configuration; '': not set.
  'cluster',
] as const;

export type HookConf = Readonly<Record<(typeof NAMES)[number], string>>;

/** What the hooks take from the settings, of which they read no other. */
export type ConfOfSettings = Omit<HookConf, 'node' | 'program'>;

export const confOfSettings = (settings: Settings, settingsPath: string): ConfOfSettings => ({
  state: settings.state_dir,
  run: settings.run_dir,
  settings: settingsPath,
  arm_wait: String(settings.arm_wait_ms / 1000),
  cgroup: settings.cgroup,
  scope: settings.scope,
  cluster: settings.cluster,
});

/**
 * Address space, in MiB, from which the sampler starts in its small and in its full mode, by Node's major version
 * (measured: 20 needs 110 and 625, 22 needs 133 and 644; 24 and 26 reserve 384 more at start: 518 and 1032, 536 and
 * 1048).
 */
export function addressSpaceNeeded(major = NODE_MAJOR): { readonly small: number; readonly full: number } {
  if (major >= 24) return { small: 560, full: 1152 };
  return { small: major >= 22 ? 160 : 140, full: 1024 };
}

/** Quotes a word for the shell. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

/** The file's text, for the major version of the running Node, which is also the hooks' Node. */
export function hookConfText(conf: HookConf, major = NODE_MAJOR): string {
  const { small, full } = addressSpaceNeeded(major);
  return [
    '# Written by "qmemacct install --node": the hooks read this, not qmemacct.toml. Do not edit; install again.',
    ...NAMES.map((name) => `${name}=${shellQuoted(conf[name])}`),
    `small_kib=${small * 1024}`,
    `full_kib=${full * 1024}`,
    `full_flags=${shellQuoted(tuningFlags(major).join(' '))}`,
    '',
  ].join('\n');
}

/** Reads what `hookConfText` wrote; null for anything else. */
export function parseHookConf(text: string): HookConf | null {
  const values = NAMES.map((name): [string, string | undefined] => {
    const quoted = new RegExp(`^${name}='((?:[^'\\n]|'\\\\'')*)'$`, 'm').exec(text)?.[1];
    return [name, quoted?.replaceAll("'\\''", "'")];
  });
  if (values.some(([, value]) => value === undefined)) return null;
  return Object.fromEntries(values) as unknown as HookConf;
}

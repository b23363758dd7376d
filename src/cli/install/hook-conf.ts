import { NODE_MAJOR, tuningFlags } from '../../base/node-flags';

/** The contents of hook.conf, a file of shell variables that the hooks source (hooks/common.sh). */
export interface HookConf {
  readonly state: string;
  readonly run: string;
  readonly settings: string;
  readonly node: string;
  readonly program: string;
  /** Seconds that the prolog waits for the sampler; "0": it does not wait. */
  readonly armWait: string;
  /** "off", "auto" or "own": a cgroup for each job (hooks/cgroup.sh). */
  readonly cgroup: string;
  /** "job" or "node"; "node": the prolog leaves its job to the service if that runs. */
  readonly scope: string;
  /** The cluster's name, for a sampler that can't read the configuration; '': not set. */
  readonly cluster: string;
}

const NAMES: readonly (readonly [keyof HookConf, string])[] = [
  ['state', 'state'],
  ['run', 'run'],
  ['settings', 'settings'],
  ['node', 'node'],
  ['program', 'program'],
  ['armWait', 'arm_wait'],
  ['cgroup', 'cgroup'],
  ['scope', 'scope'],
  ['cluster', 'cluster'],
];

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
    ...NAMES.map(([key, name]) => `${name}=${shellQuoted(conf[key])}`),
    `small_kib=${small * 1024}`,
    `full_kib=${full * 1024}`,
    `full_flags=${shellQuoted(tuningFlags(major).join(' '))}`,
    '',
  ].join('\n');
}

/** Reads what `hookConfText` wrote; null for anything else. */
export function parseHookConf(text: string): HookConf | null {
  const values = NAMES.map(([key, name]): [string, string | undefined] => {
    const quoted = new RegExp(`^${name}='((?:[^'\\n]|'\\\\'')*)'$`, 'm').exec(text)?.[1];
    return [key, quoted?.replaceAll("'\\''", "'")];
  });
  if (values.some(([, value]) => value === undefined)) return null;
  return Object.fromEntries(values) as unknown as HookConf;
}

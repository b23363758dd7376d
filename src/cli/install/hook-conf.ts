/** What the hooks have to know without asking anyone; they source it as shell (hooks/common.sh). */
export interface HookConf {
  readonly state: string;
  readonly run: string;
  readonly settings: string;
  readonly node: string;
  readonly program: string;
  /** Seconds; "0": not at all. */
  readonly armWait: string;
}

const NAMES: readonly (readonly [keyof HookConf, string])[] = [
  ['state', 'state'],
  ['run', 'run'],
  ['settings', 'settings'],
  ['node', 'node'],
  ['program', 'program'],
  ['armWait', 'arm_wait'],
];

/** Quotes a word for the shell. */
export function shellQuoted(word: string): string {
  return `'${word.replaceAll("'", "'\\''")}'`;
}

export function hookConfText(conf: HookConf): string {
  return [
    '# Written by "qmemacct install --node": the hooks read this, not qmemacct.toml. Do not edit; install again.',
    ...NAMES.map(([key, name]) => `${name}=${shellQuoted(conf[key])}`),
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

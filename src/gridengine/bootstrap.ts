/** `$SGE_ROOT/$SGE_CELL/common/bootstrap`, bootstrap(5): what is fixed at installation. */
interface Bootstrap {
  /** The account that owns Grid Engine's files; null (`none`): root does. */
  readonly adminUser: string | null;
  /** The configuration format's version, `6.2` also in 8.1.9. */
  readonly version: string | null;
  /** Every `key value` line. */
  readonly values: ReadonlyMap<string, string>;
}

export function parseBootstrap(text: string): Bootstrap {
  const values = new Map<string, string>();
  let version: string | null = null;
  for (const line of text.split('\n')) {
    version ??= /^\s*#?\s*Version:\s*(\S+)/.exec(line)?.[1] ?? null;
    const match = /^\s*([A-Za-z_]\w*)[ \t]+(\S.*?)\s*$/.exec(line);
    if (match?.[1] !== undefined && match[2] !== undefined && !values.has(match[1])) values.set(match[1], match[2]);
  }
  const adminUser = values.get('admin_user') ?? null;
  return { adminUser: adminUser?.toLowerCase() === 'none' ? null : adminUser, version, values };
}

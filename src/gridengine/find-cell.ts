import { existsSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { untrusted, UntrustedError } from '../base/trusted-path';
import { daemons } from './daemons';
import { gridEngineOwners, ownerByPlace } from './owners';

/** A cell of Grid Engine: `ROOT/CELL/common` holds its fixed files. */
export interface CellLocation {
  readonly root: string;
  readonly cell: string;
  /** Accounts that may own what is run and trusted there; absent: any account, since we are not root. */
  readonly owners?: ReadonlySet<number>;
}

/** Where packages and installation guides put SGE_ROOT. */
const USUAL_ROOTS = [
  '/var/lib/gridengine',
  '/opt/sge',
  '/opt/gridengine',
  '/opt/ge',
  '/usr/local/sge',
  '/usr/share/gridengine',
  '/gridware/sge',
];

/** What qmemacct.toml says of the cell; empty: not set. */
export interface CellSettings {
  readonly admin_user: string;
  readonly cell: string;
}

/** `NAME=value` assignments of a shell file; values that the shell would have to work out are left out. */
function assignments(text: string): NodeJS.ProcessEnv {
  const values: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/^\s*(?:export\s+)?(SGE_\w+)=["']?([^"'`$\s;]+)["']?/gm))
    values[name] = value;
  return values;
}

/** The text of a file; empty: it can't be read. */
export function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** The account that owns Grid Engine's files, by the text of `common/bootstrap`, bootstrap(5); null (`none`): root does. */
export function adminUserIn(bootstrap: string): string | null {
  const name = /^\s*admin_user[ \t]+(\S.*?)\s*$/m.exec(bootstrap)?.[1];
  return name === undefined || name.toLowerCase() === 'none' ? null : name;
}

export const cellDirectory = ({ root, cell }: CellLocation): string => join(root, cell);

const bootstrapOf = (directory: string): string => join(directory, 'common', 'bootstrap');

/** The cell that an environment names; null: it names none that is there. */
export function namedCell({ SGE_ROOT: root, SGE_CELL: named }: NodeJS.ProcessEnv): CellLocation | null {
  if (root?.startsWith('/') !== true) return null;
  // Grid Engine takes `default/`, too; the cell may name the cluster.
  const found = { root, cell: named?.replace(/\/+$/, '') || 'default' };
  return existsSync(bootstrapOf(cellDirectory(found))) ? found : null;
}

/** Whether two directories are those of one cell, whatever path leads to each. */
export function isSameCell(one: string, other: string): boolean {
  const [a, b] = [one, other].map((directory) => statSync(bootstrapOf(directory), { throwIfNoEntry: false }));
  return one === other || (a !== undefined && a.dev === b?.dev && a.ino === b.ino);
}

/** The directory of the cell that the environment names, if the configuration is for another cell; else null. */
export function otherCell(env: NodeJS.ProcessEnv, { cell: configured }: Pick<CellSettings, 'cell'>): string | null {
  const named = namedCell(env);
  if (named === null || configured === '') return null;
  const directory = cellDirectory(named);
  return isSameCell(directory, configured) ? null : directory;
}

/** The environment that a daemon was started with: one of root's, the admin user's or our own. */
function environmentOfDaemon(adminUser: string, procRoot: string): NodeJS.ProcessEnv {
  const believed = new Set([...gridEngineOwners(adminUser, procRoot), process.geteuid?.() ?? 0]);
  for (const { environment } of daemons(believed, procRoot)) {
    const found = assignments(environment.replaceAll('\0', '\n'));
    if (found.SGE_ROOT !== undefined) return found;
  }
  return {};
}

/**
 * The cell with the accounts that may own it. Throws UntrustedError where anybody else could have written its files.
 */
function forRoot({ root, cell }: CellLocation, bootstrap: string, named: ReadonlySet<number>): CellLocation {
  const byPlace = ownerByPlace(root, adminUserIn(readIfThere(bootstrap)));
  const owners = byPlace === null ? named : new Set([...named, byPlace]);
  const reason = untrusted(bootstrap, owners);
  if (reason !== null)
    throw new UntrustedError(
      `SGE_ROOT ${root}`,
      `${reason}, and root would believe and run what is there`,
      "make it root's or the admin user's alone (util/setfileperm.sh); where no execd runs, set admin_user in qmemacct.toml",
    );
  return { root, cell, owners };
}

/**
 * The cell that this machine belongs to: by the environment, the settings, Debian's defaults, a running daemon, or the
 * usual places. As root: throws UntrustedError where anybody but root and Grid Engine's admin user could change it.
 */
export function findCell(
  env: NodeJS.ProcessEnv,
  { admin_user: adminUser, cell: configured }: CellSettings,
  procRoot = '/proc',
): CellLocation | null {
  const places = [
    (): NodeJS.ProcessEnv => env,
    (): NodeJS.ProcessEnv =>
      configured === '' ? {} : { SGE_ROOT: dirname(configured), SGE_CELL: basename(configured) },
    (): NodeJS.ProcessEnv => assignments(readIfThere('/etc/default/gridengine')),
    (): NodeJS.ProcessEnv => environmentOfDaemon(adminUser, procRoot),
    ...USUAL_ROOTS.map((root) => (): NodeJS.ProcessEnv => ({ SGE_ROOT: root })),
  ];
  for (const place of places) {
    const { SGE_ROOT, SGE_CELL } = place();
    const found = namedCell({ SGE_ROOT, SGE_CELL: env.SGE_CELL || SGE_CELL });
    if (found === null) continue;
    if (process.geteuid?.() !== 0) return found;
    return forRoot(found, bootstrapOf(cellDirectory(found)), gridEngineOwners(adminUser, procRoot));
  }
  return null;
}

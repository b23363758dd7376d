import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A cell of Grid Engine: `ROOT/CELL/common` holds its fixed files. */
export interface CellLocation {
  readonly root: string;
  readonly cell: string;
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

type Environment = Readonly<Record<string, string | undefined>>;

/** `NAME=value` assignments of a shell file; values that the shell would have to work out are left out. */
function assignments(text: string): Environment {
  const values: Record<string, string> = {};
  for (const [, name = '', value = ''] of text.matchAll(/^\s*(?:export\s+)?(SGE_\w+)=["']?([^"'`$\s;]+)["']?/gm))
    values[name] = value;
  return values;
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'latin1');
  } catch {
    return '';
  }
}

/** The environment that a running daemon of Grid Engine was started with; empty where none runs or may be looked at. */
function environmentOfDaemon(): Environment {
  for (const pid of readdirSync('/proc')) {
    if (!/^\d+$/.test(pid)) continue;
    const name = readIfThere(`/proc/${pid}/comm`).trim();
    if (name !== 'sge_execd' && name !== 'sge_qmaster') continue;
    const found = assignments(readIfThere(`/proc/${pid}/environ`).replaceAll('\0', '\n'));
    if (found.SGE_ROOT !== undefined) return found;
  }
  return {};
}

/** The cell that this machine belongs to: by the environment, Debian's defaults, a running daemon, or the usual places. */
export function findCell(env: Environment): CellLocation | null {
  const places = [
    (): Environment => env,
    (): Environment => assignments(readIfThere('/etc/default/gridengine')),
    environmentOfDaemon,
    ...USUAL_ROOTS.map((root) => (): Environment => ({ SGE_ROOT: root })),
  ];
  for (const place of places) {
    const { SGE_ROOT: root, SGE_CELL: named } = place();
    if (root === undefined || root === '') continue;
    const cell = named || env.SGE_CELL || 'default';
    if (existsSync(join(root, cell, 'common', 'bootstrap'))) return { root, cell };
  }
  return null;
}

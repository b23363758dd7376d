import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CellLocation } from './find-cell';

/** Grid Engine's own commands that we run. */
export type ClientName = 'qconf' | 'qhost' | 'qstat';

type Environment = Readonly<Record<string, string | undefined>>;

function inPath(name: ClientName, path: string | undefined): string | null {
  for (const directory of (path ?? '').split(':')) {
    const file = join(directory, name);
    if (directory.startsWith('/') && existsSync(file)) return file;
  }
  return null;
}

/** Grid Engine's names for what Node calls `process.arch`, in `lx-amd64`, `lx24-amd64`, `ulx-arm64` ... */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = {
  x64: ['amd64', 'x64'],
  arm64: ['arm64', 'aarch64'],
  ppc64: ['ppc64le', 'ppc64'],
  riscv64: ['riscv64'],
  s390x: ['s390x'],
};

/** One SGE_ROOT may serve several kinds of machine: this one's first. */
function forThisMachine(architecture: string): boolean {
  const suffix = architecture.split('-').at(-1) ?? '';
  return architecture.includes('lx') && (ARCHITECTURES[process.arch] ?? [process.arch]).includes(suffix);
}

function inRoot(name: ClientName, root: string): string | null {
  try {
    const architectures = readdirSync(join(root, 'bin')).sort(
      (a, b) => Number(forThisMachine(b)) - Number(forThisMachine(a)),
    );
    return architectures.map((arch) => join(root, 'bin', arch, name)).find((file) => existsSync(file)) ?? null;
  } catch {
    return null;
  }
}

/** Path of a client: in PATH, or else `SGE_ROOT/bin/ARCHITECTURE` of a cell that is in nobody's PATH; null: nowhere. */
export function findClient(name: ClientName, env: Environment, cell: CellLocation | null): string | null {
  return inPath(name, env.PATH) ?? (cell === null ? null : inRoot(name, cell.root));
}

/** The environment that makes a client talk to this cell. */
export function clientEnvironment(env: Environment, cell: CellLocation | null): Environment {
  return cell === null ? env : { ...env, SGE_ROOT: cell.root, SGE_CELL: cell.cell };
}

import { existsSync, readdirSync, readFileSync, realpathSync } from 'node:fs';
import { join } from 'node:path';
import { untrusted, UntrustedError } from '../base/trusted-path';
import type { CellLocation } from './find-cell';
import { gridEngineOwners } from './owners';

/** Grid Engine's own commands that we run. */
export type ClientName = 'qconf' | 'qhost' | 'qstat';

function inPath(name: ClientName, path: string | undefined): readonly string[] {
  return (path ?? '')
    .split(':')
    .filter((directory) => directory.startsWith('/'))
    .map((directory) => join(directory, name))
    .filter((file) => existsSync(file));
}

/** Grid Engine's names for what Node calls `process.arch`, in `lx-amd64`, `lx24-amd64`, `ulx-arm64` ... */
const ARCHITECTURES: Readonly<Record<string, readonly string[]>> = {
  x64: ['amd64', 'x64'],
  arm64: ['arm64', 'aarch64'],
  ppc64: ['ppc64le', 'ppc64'],
  riscv64: ['riscv64'],
  s390x: ['s390x'],
};

/** Whether programs for an architecture run on this machine: one SGE_ROOT may serve several kinds. */
function forThisMachine(architecture: string): boolean {
  const suffix = architecture.split('-').at(-1) ?? '';
  return architecture.includes('lx') && (ARCHITECTURES[process.arch] ?? [process.arch]).includes(suffix);
}

function inRoot(name: ClientName, root: string): readonly string[] {
  try {
    const architectures = readdirSync(join(root, 'bin')).sort(
      (a, b) => Number(forThisMachine(b)) - Number(forThisMachine(a)),
    );
    return architectures.map((arch) => join(root, 'bin', arch, name)).filter((file) => existsSync(file));
  } catch {
    return [];
  }
}

/** Where Debian's packages have their clients: the one in PATH is a script that runs one of `programs`. */
export const DEBIAN = {
  script: '/usr/share/gridengine/gridengine-wrapper',
  defaults: '/etc/default/gridengine',
  programs: '/usr/lib/gridengine',
};

/** A line of `defaults` without effect on a client in a known cell. Any other may export something, or read a file. */
const ORDINARY = /^\s*(#|$|SGE_(START_\w+|ROOT|CELL|ARCH)=[^;&|]*$)/;

/**
 * The program itself where `file` is Debian's script for it, which starts some forty processes to learn the machine's
 * architecture. The script also says where the cell is, and runs what the site has put into `defaults`.
 */
export function withoutScript(file: string, name: ClientName, { script, defaults, programs }: typeof DEBIAN): string {
  try {
    const program = join(programs, name);
    if (realpathSync(file) !== script || !existsSync(program)) return file;
    const lines = existsSync(defaults) ? readFileSync(defaults, 'utf8').split('\n') : [];
    return lines.every((line) => ORDINARY.test(line)) ? program : file;
  } catch {
    return file;
  }
}

/**
 * Path of a client: in PATH, or else `SGE_ROOT/bin/ARCHITECTURE` of a cell that is in nobody's PATH; null: nowhere.
 * Root gets only one that nobody but root and Grid Engine's admin user can change; throws UntrustedError where there
 * are only others.
 */
export function findClient(name: ClientName, env: NodeJS.ProcessEnv, cell: CellLocation | null): string | null {
  const found =
    cell === null
      ? inPath(name, env.PATH)
      : [...inPath(name, env.PATH).map((file) => withoutScript(file, name, DEBIAN)), ...inRoot(name, cell.root)];
  if (process.geteuid?.() !== 0) return found[0] ?? null;
  const owners = cell?.owners ?? gridEngineOwners('');
  const refused: string[] = [];
  for (const file of found) {
    const reason = untrusted(file, owners);
    if (reason === null) return file;
    refused.push(`${file}: ${reason}`);
  }
  if (refused[0] === undefined) return null;
  throw new UntrustedError(
    name,
    `${refused[0]}, and root would run it`,
    'take that permission away, or it out of PATH',
  );
}

/** Variables that say where Grid Engine is. */
const PLACES = ['SGE_ROOT', 'SGE_CELL', 'SGE_BINARY_PATH'];

/** The environment that makes a client talk to this cell; without a cell, root's environment names none. */
export function clientEnvironment(env: NodeJS.ProcessEnv, cell: CellLocation | null): NodeJS.ProcessEnv {
  if (cell !== null) return { ...env, SGE_ROOT: cell.root, SGE_CELL: cell.cell };
  if (process.geteuid?.() !== 0) return env;
  return Object.fromEntries(Object.entries(env).filter(([key]) => !PLACES.includes(key)));
}

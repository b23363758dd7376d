import { spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';

export { readTruth, type Truth, type TruthProcess } from './truth.js';

const burners = [
  'steady',
  'spike',
  'growing',
  'fork-large-parent',
  'vfork',
  'handover',
  'shared-map',
  'shrink-by-exec',
  'exec-chain',
  'fork-tree',
  'leader-exits',
  'daemon',
  'sibling',
  'many-children',
  'threads',
  'cpu',
  'io',
] as const;

export type Burner = (typeof burners)[number];

/**
 * The burners; `watch`, the watcher of their own tests; `events`, which makes events in numbers that the kernel counts;
 * `launch`, which starts others as a shepherd does.
 */
export type BurnerProgram = Burner | 'watch' | 'events' | 'launch';

const flags = ['-std=c11', '-D_GNU_SOURCE', '-O1', '-pthread', '-Wall', '-Wextra', '-Werror', '-Wl,-z,now'];

function compiler(): string {
  return process.env.CC || 'cc';
}

function isRoot(directory: string): boolean {
  const file = join(directory, 'package.json');
  return existsSync(file) && /"name":\s*"qmemacct"/.test(readFileSync(file, 'utf8'));
}

/** test/burners of the source tree: the compiled tests lie beside it, or elsewhere and are run from within it. */
function sourceDirectory(): string {
  for (const start of [__dirname, process.cwd()]) {
    for (let at = start; at !== dirname(at); at = dirname(at)) {
      if (isRoot(at)) return join(at, 'test', 'burners');
    }
  }
  throw new Error(`no package.json of qmemacct above ${__dirname} or ${process.cwd()}: run from the source tree`);
}

/** A directory that all users can enter and only this one can write; another user may have made one of that name. */
function cacheDirectory(): string {
  const uid = process.getuid?.() ?? 0;
  const directory = join(tmpdir(), `qmemacct-burners-${uid}`);
  mkdirSync(directory, { recursive: true });
  const found = lstatSync(directory);
  if (!found.isDirectory() || found.uid !== uid) throw new Error(`${directory} is not this user's: remove it`);
  chmodSync(directory, 0o755);
  return directory;
}

function contentHash(sources: string, program: string): string {
  const hash = createHash('sha256');
  const headers = readdirSync(sources).filter((file) => file.endsWith('.h'));
  for (const file of [`${program}.c`, ...headers.sort()]) hash.update(readFileSync(join(sources, file)));
  const version = spawnSync(compiler(), ['--version'], { encoding: 'utf8' }).stdout;
  return hash
    .update(JSON.stringify([compiler(), version, flags]))
    .digest('hex')
    .slice(0, 16);
}

/** Compiles into a directory of its own and renames that: of several processes doing the same, one wins. */
function compile(source: string, target: string): void {
  const cache = dirname(dirname(target));
  const scratch = mkdtempSync(join(cache, 'new-'));
  try {
    const binary = join(scratch, 'binary');
    const run = spawnSync(compiler(), [...flags, source, '-o', binary], { encoding: 'utf8' });
    if (run.status !== 0) throw new Error(`${compiler()} ${source}: ${run.error?.message ?? run.stderr}`);
    chmodSync(binary, 0o755);
    mkdirSync(dirname(target), { recursive: true });
    chmodSync(dirname(target), 0o755);
    renameSync(binary, target);
  } finally {
    rmSync(scratch, { recursive: true, force: true });
  }
}

const built = new Map<BurnerProgram, string>();

/**
 * Path of a burner's executable, compiled on first use and cached by content under os.tmpdir(); its base name, and so
 * its command name in /proc, is the burner's. Every user can run it, as long as os.tmpdir() is open to them.
 */
export function burner(name: BurnerProgram): string {
  const known = built.get(name);
  if (known !== undefined) return known;
  const sources = sourceDirectory();
  const target = join(cacheDirectory(), contentHash(sources, name), name);
  if (!existsSync(target)) compile(join(sources, `${name}.c`), target);
  built.set(name, target);
  return target;
}

let obstacle: string | null | undefined;

/** Why burners can't be compiled here, for skipping tests with the reason; null if they can. */
export function burnersObstacle(): string | null {
  if (obstacle !== undefined) return obstacle;
  const run = spawnSync(compiler(), ['-x', 'c', '-include', 'stdio.h', '-fsyntax-only', '/dev/null'], {
    encoding: 'utf8',
  });
  if (run.error) obstacle = `no C compiler: ${run.error.message}`;
  else obstacle = run.status === 0 ? null : `the C compiler finds no libc headers: ${run.stderr.trim()}`;
  return obstacle;
}

/** Every burner, for tests of all of them. */
export function burnerNames(): readonly Burner[] {
  return burners;
}

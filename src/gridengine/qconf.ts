import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import type { CellLocation } from './find-cell';

export interface QconfAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `qconf` with these arguments; any exit status is an answer. Rejects when it can't be started. */
export type Qconf = (args: readonly string[]) => Promise<QconfAnswer>;

/** qmaster answers in milliseconds or is down. */
const TIMEOUT_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

function inPath(path: string | undefined): string | null {
  for (const directory of (path ?? '').split(':')) {
    const file = join(directory, 'qconf');
    if (directory.startsWith('/') && existsSync(file)) return file;
  }
  return null;
}

/** qconf of a cell that is in nobody's PATH: SGE_ROOT/bin/ARCHITECTURE/qconf. */
function inRoot(root: string): string | null {
  try {
    const found = readdirSync(join(root, 'bin')).map((arch) => join(root, 'bin', arch, 'qconf'));
    return found.find((file) => existsSync(file)) ?? null;
  } catch {
    return null;
  }
}

/** The qconf of this machine's cell; null where there is none. */
export function findQconf(env: Readonly<Record<string, string | undefined>>, cell: CellLocation | null): Qconf | null {
  const file = inPath(env.PATH) ?? (cell === null ? null : inRoot(cell.root));
  if (file === null) return null;
  const cellEnv = cell === null ? {} : { SGE_ROOT: cell.root, SGE_CELL: cell.cell };
  return (args) =>
    new Promise((resolve, reject) => {
      const options = {
        // Without SGE_SINGLE_LINE long values are broken at commas and blanks, and nobody can tell which.
        env: { ...env, ...cellEnv, SGE_SINGLE_LINE: '1' },
        timeout: TIMEOUT_MS,
        maxBuffer: MOST_BYTES,
      };
      const child = execFile(file, [...args], options, (error, stdout, stderr) => {
        if (error !== null && child.exitCode === null) reject(new Error(`${file} ${args.join(' ')}: ${error.message}`));
        else resolve({ status: child.exitCode ?? 1, stdout, stderr });
      });
      child.stdin?.end();
    });
}

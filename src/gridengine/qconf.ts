import { execFile } from 'node:child_process';
import type { CellLocation } from './find-cell';
import { clientEnvironment, findClient } from './find-client';

interface QconfAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `qconf` with these arguments; any exit status is an answer. Rejects when it can't be started. */
export type Qconf = (args: readonly string[]) => Promise<QconfAnswer>;

/** qmaster answers in milliseconds or is down. */
const TIMEOUT_MS = 60_000;
const MOST_BYTES = 64 * 1024 * 1024;

/** The qconf of this machine's cell; null where there is none. Throws UntrustedError (findClient). */
export function findQconf(env: Readonly<Record<string, string | undefined>>, cell: CellLocation | null): Qconf | null {
  const file = findClient('qconf', env, cell);
  if (file === null) return null;
  return (args) =>
    new Promise((resolve, reject) => {
      const options = {
        // Without SGE_SINGLE_LINE long values are broken at commas and blanks, and which of them is lost.
        env: { ...clientEnvironment(env, cell), SGE_SINGLE_LINE: '1' },
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

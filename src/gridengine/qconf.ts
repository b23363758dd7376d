import { execFile } from 'node:child_process';
import { MIB } from '../base/units';
import { timeoutProblem } from './client-problem';
import type { CellLocation, CellSettings } from './find-cell';
import { clientEnvironment, findClient } from './find-client';

interface QconfAnswer {
  readonly status: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs `qconf` with these arguments; any exit status is an answer. Rejects when it can't be started. */
export type Qconf = (args: readonly string[]) => Promise<QconfAnswer>;

const MOST_BYTES = 64 * MIB;

/** The settings in qmemacct.toml for the cell and for its commands. */
export interface QconfSettings extends CellSettings {
  /** Seconds until a command that has not answered is ended. */
  readonly command_timeout: number;
}

/** The qconf of this machine's cell; null where there is none. Throws UntrustedError (findClient). */
export function findQconf(
  env: Readonly<Record<string, string | undefined>>,
  cell: CellLocation | null,
  { command_timeout: seconds }: Pick<QconfSettings, 'command_timeout'>,
): Qconf | null {
  const file = findClient('qconf', env, cell);
  if (file === null) return null;
  return (args) =>
    new Promise((resolve, reject) => {
      const options = {
        // Without SGE_SINGLE_LINE long values are broken at commas and blanks, and at which of the two is lost.
        env: { ...clientEnvironment(env, cell), SGE_SINGLE_LINE: '1' },
        timeout: seconds * 1000,
        maxBuffer: MOST_BYTES,
      };
      const child = execFile(file, [...args], options, (error, stdout, stderr) => {
        if (error?.killed === true && error.code == null) reject(new Error(timeoutProblem('qconf', seconds)));
        else if (error !== null && child.exitCode === null)
          reject(new Error(`${file} ${args.join(' ')}: ${error.message}`));
        else resolve({ status: child.exitCode ?? 1, stdout, stderr });
      });
      child.stdin?.end();
    });
}

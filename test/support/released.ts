import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

export const PROGRAM_VARIABLE = 'QMEMACCT_TEST_PROGRAM';

/** Directory of the program that tests start and install: a release that `test/run.ts` made, or the checkout. */
export const PROGRAM = process.env[PROGRAM_VARIABLE] ?? packageRoot();

/** Makes a release of this checkout's build in a new directory. */
export function release(directory: string): void {
  execFileSync(process.execPath, [join(packageRoot(), '.ci', 'bundle.mjs'), packageRoot(), directory]);
}

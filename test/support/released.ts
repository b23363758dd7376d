import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

export const PROGRAM_VARIABLE = 'QMEMACCT_TEST_PROGRAM';

/** Directory of the program that tests start and install: a release that the suite made (`test/run.ts`), or the checkout. */
export const PROGRAM = process.env[PROGRAM_VARIABLE] ?? packageRoot();

/** Makes of the build in this checkout what hosts get, in a new directory. */
export function release(directory: string): void {
  execFileSync(process.execPath, [join(packageRoot(), '.ci', 'bundle.mjs'), packageRoot(), directory]);
}

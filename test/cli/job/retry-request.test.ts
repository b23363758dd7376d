import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { packageRoot } from '../../../src/base/package-root';
import { killedAtLimit, ordinary, running, unsampled } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { COMMAND } from '../../support/qmemacct';

const SCRIPT = join(packageRoot(), 'docs', 'examples', 'workflows', 'retry-request');

/** Runs the script for a job, at a site that knows four jobs. */
async function site(): Promise<(job: number) => string> {
  const directory = temporaryDirectory();
  const path = (name: string): string => join(directory, name);
  const unknown = { ...unsampled, job_id: 4804, exit_status: 1 };
  const store = openSqliteStore(path('accounting.db'), 0o600);
  await store.merge([killedAtLimit, { ...ordinary, job_id: 4801 }, { ...running, job_id: 4802 }, unknown]);
  await store.close();
  writeFileSync(path('qmemacct.toml'), `accounting = "${path('accounting.db')}"\n`);
  const command = `#!/bin/sh\nexec ${process.execPath} ${COMMAND} --config ${path('qmemacct.toml')} "$@"\n`;
  writeFileSync(path('qmemacct'), command, { mode: 0o755 });
  const env = { PATH: `${directory}:${process.env.PATH}`, SGE_ROOT: '/nonexistent' };
  return (job) => execFileSync(SCRIPT, [String(job), 'h_vmem=2G', '0'], { encoding: 'utf8', env });
}

describe('docs/examples/workflows/retry-request', () => {
  it('prints the request of "job --retry" where memory may have ended the job, else the given one', async () => {
    const request = await site();
    assert.equal(request(killedAtLimit.job_id), 'h_vmem=6G\n');
    assert.equal(request(4804), 'h_vmem=100M\n', 'memory may have ended it: twice the request');
    for (const [job, why] of [
      [4801, 'it succeeded'],
      [4802, 'it still runs'],
      [4803, 'nobody knows it'],
    ] as const)
      assert.equal(request(job), 'h_vmem=2G\n', why);
  });
});

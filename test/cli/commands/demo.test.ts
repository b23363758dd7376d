import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { notRoot, qmemacctMeanwhile } from '../../support/qmemacct';

/** Three reports, then the list of the jobs with its sums. Few samples, as on a busy machine, leave the cause open. */
const SCREENS =
  /^Three jobs run [^]*\nJob demo-1 +simulation +finished, [^]*\nJob demo-2 +analysis +finished, [^]*\nJob demo-3 +assembly +failed, exit status 1\n[^]*\n {2}(?:Probable cause|Possible causes): memory that was refused at h_vmem[^]*\nJobs of \S+ +3 jobs and array tasks\n/;

describe('qmemacct demo', { concurrency: true }, () => {
  it('runs three jobs and shows their reports', async () => {
    const { status, stdout, stderr } = await qmemacctMeanwhile(['demo']);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, SCREENS);
  });

  it(
    'runs three jobs of an ordinary user without a name, and shows them as self-reported',
    { skip: notRoot },
    async () => {
      const { status, stdout, stderr } = await qmemacctMeanwhile(['demo'], { uid: 1_999_900_002 });
      assert.deepEqual([status, stderr], [0, '']);
      assert.match(stdout, SCREENS);
      assert.match(stdout, / self-reported by the owner, unverified, \d+ samples/);
    },
  );
});

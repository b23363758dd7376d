import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { notRoot, qmemacctMeanwhile } from '../../support/qmemacct';

/** What both see: the reports of the three jobs, then their list with its sums. A busy machine takes few samples. */
const SCREENS =
  /^Three jobs run [^]*\nJob demo-1 +simulation +finished, [^]*\nJob demo-2 +analysis +finished, [^]*\nJob demo-3 +assembly +failed, exit status 1\n[^]*\n {2}(?:Probable cause|Possible causes): memory that was refused at h_vmem[^]*\nJobs of \S+ +3 jobs and array tasks\n/;

describe('qmemacct demo', { concurrency: true }, () => {
  it('shows three jobs to who runs it', async () => {
    const { status, stdout, stderr } = await qmemacctMeanwhile(['demo']);
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, SCREENS);
  });

  it('shows them to an ordinary user without a name, whose hooks have no rights', { skip: notRoot }, async () => {
    const { status, stdout, stderr } = await qmemacctMeanwhile(['demo'], { uid: 1_999_900_002 });
    assert.deepEqual([status, stderr], [0, '']);
    assert.match(stdout, SCREENS);
    assert.match(stdout, / self-reported by the owner, unverified, \d+ samples/);
  });
});

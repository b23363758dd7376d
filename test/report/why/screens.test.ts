import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { displayWidth } from '../../../src/report/screen/text-width';
import { renderJob } from '../../../src/report/job/job';
import { nextRequests } from '../../../src/report/advice/next-request';
import { renderJson } from '../../../src/report/records/json';
import { causeAccounts } from '../../../src/report/why/causes';
import { BAD_ENDS } from '../bad-ends';
import { assertGolden } from '../golden';
import { asRuns } from '../sample-records';
import { testScreen } from '../screens';

process.env.TZ = 'Europe/Berlin';

describe('the screen of a job that ended badly', () => {
  for (const [name, record] of Object.entries(BAD_ENDS)) {
    const report = { job_id: record.job_id, runs: asRuns([record]), older: 0, newer: 0 };

    it(`shows ${name}`, () =>
      assertGolden(`end-${name}`, renderJob(report, { detail: 'full', allTasks: false }, testScreen())));

    it(`keeps ${name} within 80 columns, without control characters`, () => {
      for (const unicode of [true, false]) {
        const lines = renderJob(report, { detail: 'full', allTasks: false }, testScreen({ width: 80, unicode }));
        assert.deepEqual(
          lines.filter((line) => displayWidth(line) > 80),
          [],
        );
        assert.doesNotMatch(lines.join(''), /\p{C}/u);
        if (!unicode) assert.match(lines.join(''), /^[ -~]*$/);
      }
    });
  }
});

describe('causes in JSON', () => {
  it('stand beside the records, one for each run that ended badly', () => {
    const runs = asRuns(Object.values(BAD_ENDS).map((record, index) => ({ ...record, job_id: index + 1 })));
    const text = renderJson(nextRequests(runs), [], causeAccounts(runs));
    assert.ok(!text.includes('\u001b'));
    const { causes } = JSON.parse(text) as { causes: { job_id: number; causes: string[]; next_time: string | null }[] };
    assert.deepEqual(
      causes.map((one) => [one.job_id, ...one.causes]),
      [
        [1, 'h_rt'],
        [2, 'refused-memory'],
        [3, 'deleted'],
        [4, 'cgroup-out-of-memory'],
        [5],
        [6, 'crash'],
        [7, 'never-ran'],
      ],
    );
    assert.equal(causes[0]?.next_time, 'qsub -l h_vmem=4G,h_rt=0:20:00');
  });

  it('are left out where no run ended badly', () => {
    const runs = asRuns([{ ...BAD_ENDS.deleted, exit_status: 0, signal: 0, failed: 0 }]);
    assert.deepEqual(causeAccounts(runs), []);
    assert.doesNotMatch(renderJson(nextRequests(runs), [], causeAccounts(runs)), /"causes"/);
  });
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import { groupBy } from '../../../src/base/group-by';
import { runGroups, type JobRun } from '../../../src/report/job/job-run';
import { recordOf } from '../../support/records';

const run = fc
  .record({
    cluster: fc.constantFrom('a', 'b'),
    job_id: fc.constantFrom(1, 2),
    task_id: fc.constantFrom(null, 1, 2, 11),
    attempt: fc.constantFrom(1, 1, 2),
    incarnation: fc.constantFrom(1, 2),
  })
  .map(({ attempt, incarnation, ...key }): JobRun => ({ record: recordOf(key), attempt, incarnation }));

it('runGroups groups the records of each run, whatever their order', () => {
  const jobOf = ({ record, incarnation }: JobRun): string =>
    JSON.stringify([record.cluster, record.job_id, incarnation]);
  const runOf = ({ record, attempt }: JobRun): string => JSON.stringify([record.task_id, attempt]);
  fc.assert(
    fc.property(fc.array(run, { maxLength: 30 }), (runs) => {
      const jobs = [...groupBy(runs, jobOf).values()];
      assert.deepEqual(
        runGroups(runs),
        jobs.flatMap((ofJob) => [...groupBy(ofJob, runOf).values()]),
      );
    }),
  );
});

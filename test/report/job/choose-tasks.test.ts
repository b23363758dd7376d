import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseTasks } from '../../../src/report/job/choose-tasks';
import { renderJob } from '../../../src/report/job/job';
import { arrayOfTwenty, asRuns } from '../sample-records';
import { testScreen } from '../screens';

const runs = asRuns(arrayOfTwenty);

describe('chooseTasks', () => {
  it('takes the fullest, the failed, the first', () => {
    assert.deepEqual(chooseTasks(runs, { worst: 3 }), [7, 3, 14]);
    assert.deepEqual(chooseTasks(runs, { failed: true }), [7]);
    assert.deepEqual(chooseTasks(runs, { limit: 2 }), [1, 2]);
    assert.deepEqual(chooseTasks(runs, { worst: 3, limit: 2 }), [7, 3]);
    assert.equal(chooseTasks(runs, {}).length, 20);
  });

  it('is what a screen lists', () => {
    const report = { job_id: 4720, runs, older: 0, newer: 0 };
    const lines = renderJob(report, { allTasks: false, tasks: { worst: 2 } }, testScreen());
    assert.deepEqual(
      lines.flatMap((line) => /^ {10} +(\d+) +node/.exec(line)?.[1] ?? []),
      ['7', '3'],
    );
    assert.match(lines[0] ?? '', /20 tasks$/);
  });
});

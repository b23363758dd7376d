import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { chooseTasks, type TaskChoice } from '../../../src/report/job/choose-tasks';
import { renderJob } from '../../../src/report/job/job';
import { arrayOfTwenty, asRuns } from '../sample-records';
import { testScreen } from '../screens';

const tasks = arrayOfTwenty.map((record) => [record]);
const chosen = (choice: TaskChoice): readonly unknown[] =>
  chooseTasks(tasks, choice).map(([record]) => record?.task_id ?? null);

describe('chooseTasks', () => {
  it('takes the fullest, the failed, the first', () => {
    assert.deepEqual(chosen({ worst: 3 }), [7, 3, 14]);
    assert.deepEqual(chosen({ failed: true }), [7]);
    assert.deepEqual(chosen({ limit: 2 }), [1, 2]);
    assert.deepEqual(chosen({ worst: 3, limit: 2 }), [7, 3]);
    assert.equal(chosen({}).length, 20);
  });

  it('is what a screen lists', () => {
    const report = { job_id: 4720, runs: asRuns(arrayOfTwenty), older: 0, newer: 0 };
    const lines = renderJob(report, { allTasks: false, tasks: { worst: 2 } }, testScreen());
    assert.deepEqual(
      lines.flatMap((line) => /^ {10} +(\d+) +node/.exec(line)?.[1] ?? []),
      ['7', '3'],
    );
    assert.match(lines[0] ?? '', /20 tasks$/);
  });
});

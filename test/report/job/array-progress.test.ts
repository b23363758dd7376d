import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { expandTasks } from '../../../src/gridengine/qstat/expand-tasks';
import type { ListedTasks } from '../../../src/live/listed-tasks';
import { arraysAmong, type ArrayProgress } from '../../../src/report/job/array-progress';
import { renderJob } from '../../../src/report/job/job';
import { jobKey, type JobRun } from '../../../src/report/job/job-run';
import { nextRequests } from '../../../src/report/advice/next-request';
import { renderJson } from '../../../src/report/records/json';
import type { JobRecord } from '../../../src/record/record';
import { arrayOfTwenty, asRuns, ordinary } from '../sample-records';
import { testScreen } from '../screens';

const AT = Date.UTC(2026, 10, 20, 15);

const listed = (running: string, waiting: string): ListedTasks => ({
  at: AT,
  running: new Set(expandTasks(running).numbers),
  waiting: expandTasks(waiting),
});

/** Task `number`; its record is so many seconds older than Grid Engine's lists. */
function task(number: number, status: 'finished' | 'running', age = 60): JobRecord {
  const [first = ordinary] = arrayOfTwenty;
  const ended = status === 'running' ? { ended_at: null, exit_status: null, signal: null } : {};
  return { ...first, task_id: number, run_id: `1.${number}.1`, status, revision: AT - age * 1000, ...ended };
}

function progressOf(runs: readonly JobRun[], tasks: ListedTasks | null): ArrayProgress {
  const [progress] = arraysAmong(runs, () => tasks).values();
  assert.ok(progress !== undefined);
  return progress;
}

const lastLine = (runs: readonly JobRun[], tasks: ListedTasks | null): string => {
  const report = { job_id: 4720, runs, older: 0, newer: 0, arrays: arraysAmong(runs, () => tasks) };
  return renderJob(report, { detail: 'full', allTasks: false }, testScreen()).at(-1) ?? '';
};

describe('the progress of an array job', () => {
  const runs = asRuns([...[1, 2, 3].map((number) => task(number, 'finished')), task(4, 'running')]);

  it('is one line below its tasks', () => {
    assert.equal(lastLine(runs, listed('4', '5-100:1')), '  3 of 100 tasks have ended, 1 runs, 96 to come');
    assert.equal(lastLine(runs.slice(0, 1), listed('2,3', '')), '  1 of 3 tasks has ended, 2 run, 0 to come');
  });

  it('is left out where Grid Engine does not answer, and null in JSON', () => {
    const { arrays, ...rest } = { job_id: 4720, runs, older: 0, newer: 0, arrays: arraysAmong(runs, () => null) };
    const lines = renderJob({ ...rest, arrays }, { detail: 'full', allTasks: false }, testScreen());
    assert.deepEqual(lines, renderJob(rest, { detail: 'full', allTasks: false }, testScreen()));
    assert.deepEqual(
      [...arrays.values()],
      [{ cluster: ordinary.cluster, job_id: 4720, ended: 3, running: 1, to_come: null }],
    );
    const text = renderJson(nextRequests(runs), [], [], [...arrays.values()]);
    assert.match(
      text,
      /\],"arrays":\[\n\{"cluster":"[^"]*","job_id":4720,"ended":3,"running":1,"to_come":null\}\n\]\}\n$/,
    );
  });

  it('counts the tasks that run and have no record yet', () => {
    assert.deepEqual(progressOf(runs, listed('4,5,6', '7-10:1')), {
      ...progressOf(runs, null),
      running: 3,
      to_come: 4,
    });
  });

  it('counts a task that waits to run again as to come, and one that runs again as running', () => {
    const { ended, running, to_come: waiting } = progressOf(runs, listed('2,4', '3,5-6:1'));
    assert.deepEqual([ended, running, waiting], [1, 2, 3]);
  });

  it('counts a task that the newer lists no longer have as ended', () => {
    assert.deepEqual(progressOf(runs, listed('', '5-6:1')), {
      ...progressOf(runs, null),
      ended: 4,
      running: 0,
      to_come: 2,
    });
  });

  it('follows a record that is newer than the lists', () => {
    const newer = asRuns([task(1, 'finished', -5), task(2, 'running', -5), task(3, 'finished')]);
    const { ended, running, to_come: waiting } = progressOf(newer, listed('1', '2-10:1'));
    assert.deepEqual([ended, running, waiting], [1, 1, 8]);
  });

  it('counts the waiting tasks, however many they are', () => {
    assert.equal(progressOf(runs, listed('4', '5-4000000000:1')).to_come, 3_999_999_996);
  });

  it('exists for array jobs only', () => {
    const plain = asRuns([ordinary]);
    assert.equal(arraysAmong(plain, () => listed('1', '2')).size, 0);
    assert.deepEqual([...arraysAmong([...plain, ...runs], () => null).keys()], [...new Set(runs.map(jobKey))]);
  });
});

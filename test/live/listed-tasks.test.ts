import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ListedJob } from '../../src/gridengine/qstat/job-list';
import { listedTasks, type ListedTasks } from '../../src/live/listed-tasks';
import type { Snapshot } from '../../src/live/snapshot';
import { answer, AT, noAnswer, sampleSnapshot } from './snapshots';

const sample = sampleSnapshot();
const { cluster } = sample;
const job = { cluster, job_id: 900 };

function row(tasks: string | null, changes: Partial<ListedJob> = {}): ListedJob {
  const [first] = sample.running.value;
  assert.ok(first !== undefined);
  return { ...first, job: 900, tasks, submittedAt: null, ...changes };
}

const lists = (running: readonly ListedJob[], pending: readonly ListedJob[]): Snapshot => ({
  ...sample,
  running: answer(running),
  pending: answer(pending, { at: AT + 1000 }),
});

const plain = (tasks: ListedTasks | null): unknown =>
  tasks && { at: tasks.at, running: [...tasks.running], waiting: [...tasks.waiting.numbers] };

describe('listedTasks', () => {
  it('collects the tasks of all rows of the array job, and of no other', () => {
    const snapshot = lists([row('2'), row('3'), row('4', { job: 901 })], [row('5-9:2,12'), row('1', { state: 'Eqw' })]);
    assert.deepEqual(plain(listedTasks(snapshot, job, AT)), { at: AT, running: [2, 3], waiting: [5, 7, 9, 12, 1] });
  });

  it('counts a task that is in both lists once, where the newer list has it', () => {
    const [running, pending] = [[row('2'), row('3')], [row('3-6:1')]];
    const newerPending = lists(running, pending);
    const newerRunning = { ...newerPending, running: answer(running, { at: AT + 2000 }) };
    assert.deepEqual(plain(listedTasks(newerPending, job, AT)), { at: AT, running: [2], waiting: [3, 4, 5, 6] });
    const listed = listedTasks(newerRunning, job, AT);
    assert.deepEqual(plain(listed), { at: AT + 1000, running: [2, 3], waiting: [4, 5, 6] });
    assert.equal(listed?.waiting.count, 3);
  });

  it('is null without both lists, for a job in neither list, and for another cluster', () => {
    const snapshot = lists([row('2')], [row('3')]);
    assert.notEqual(listedTasks(snapshot, job, AT), null);
    for (const unknown of [
      { ...snapshot, pending: null },
      { ...snapshot, pending: noAnswer<readonly ListedJob[]>([]) },
      { ...snapshot, running: answer(snapshot.running.value, { problem: 'qmaster is down' }) },
      lists([], []),
      { ...snapshot, cluster: `${cluster}2` },
    ])
      assert.equal(listedTasks(unknown, job, AT), null);
  });

  it('leaves out a later job with the same number', () => {
    const snapshot = lists([], [row('1-9:1', { submittedAt: AT })]);
    assert.equal(listedTasks(snapshot, job, AT - 60_000), null);
    assert.equal(listedTasks(snapshot, job, AT + 60_000)?.waiting.count, 9);
  });
});

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { withOnlineUsage } from '../../src/live/online-details';
import { aDetail } from './fake-qmaster';

const part = (task: number, peTask: string | null, rss: number): Parameters<typeof withOnlineUsage>[1][0] => ({
  at: 1,
  job: 7,
  task,
  peTask,
  usage: new Map([['rss', rss]]),
});

describe('online usage in a detail', () => {
  it('takes the place of what qstat said, and adds tasks that have begun since', () => {
    const detail = withOnlineUsage(aDetail(7), [part(0, null, 5), part(0, '1.node02', 6), part(3, null, 7)]);
    assert.deepEqual(
      detail.tasks.map(({ task, usage, peTasks }) => [task, usage.get('rss'), peTasks]),
      [
        [1, 5, [{ id: '1.node02', host: 'node02', past: false, usage: new Map([['rss', 6]]) }]],
        [3, 7, []],
      ],
    );
    const again = withOnlineUsage(detail, [part(0, '1.node02', 60), part(0, 'odd', 1)]);
    assert.deepEqual(
      again.tasks[0]?.peTasks.map(({ id, host, usage }) => [id, host, usage.get('rss')]),
      [
        ['1.node02', 'node02', 60],
        ['odd', null, 1],
      ],
    );
    assert.deepEqual(
      again.tasks.map(({ usage }) => usage.get('rss')),
      [5, 7],
    );
  });
});

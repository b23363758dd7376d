import assert from 'node:assert/strict';
import { once } from 'node:events';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { OomKills } from '../../../src/sources/events/oom-kills';
import { noOomKill, overfull } from '../../support/limited-group';
import { anyCharacter } from '../../support/any-character';

/** As Linux 6.1 logs a kill for the limit of a control group. */
const OF_GROUP = [
  '6,4000,100,-;oom-kill:constraint=CONSTRAINT_MEMCG,nodemask=(null),cpuset=/,mems_allowed=0,oom_memcg=/a.slice,task_memcg=/a.slice/b.scope,task=sort,pid=4711,uid=1000\n',
  '3,4001,110,-;Memory cgroup out of memory: Killed process 4711 (sort) total-vm:84076kB, anon-rss:80812kB, UID:1000 pgtables:204kB oom_score_adj:0\n SUBSYSTEM=cpu\n',
];
const OF_NODE = '3,9,110,-;Out of memory: Killed process 12 (java) total-vm:9kB, anon-rss:8kB, UID:0 oom_score_adj:0\n';
/** Linux 3.10 and 4.18: the process that was chosen, then the child that was killed. */
const BY_CHILD = [
  '3,1,1,-;Memory cgroup out of memory: Kill process 50 (sh) score 998 or sacrifice child\n',
  '3,2,1,-;Killed process 51 (sort), UID 1000, total-vm:84076kB, anon-rss:80812kB, file-rss:4kB, shmem-rss:0kB\n',
];
const OTHERS = [
  '6,1,1,-;oom_reaper: reaped process 7 (sort), now anon-rss:0kB, file-rss:0kB, shmem-rss:0kB\n',
  '6,1,1,-;audit: comm="x: Killed process 7 (a)"\n',
  '3,1,1,-;Out of memory: Killed process 8 (Killed process 9 () total-vm:9kB\n',
];

function killsIn(records: readonly string[]): OomKills {
  const kills = new OomKills('/nonexistent');
  for (const record of records) kills.take(record);
  return kills;
}

describe('the victims of the OOM killer', () => {
  it('are read from the kernel’s log, each once', () => {
    const kills = killsIn([...OF_GROUP, OF_NODE, ...OTHERS]);
    assert.deepEqual([kills.ended(4711), kills.ended(4711), kills.ended(12)], ['cgroup', null, 'node']);
    assert.deepEqual([kills.ended(7), kills.ended(9), kills.ended(8)], [null, null, 'node']);
  });

  it('are the processes that were killed, not those that were chosen first', () => {
    const kills = killsIn(BY_CHILD);
    assert.deepEqual([kills.ended(50), kills.ended(51)], [null, 'cgroup']);
  });

  it('are not found in other log records', () => {
    fc.assert(
      fc.property(fc.string({ unit: anyCharacter }), fc.nat(), (text, pid) => killsIn([text]).ended(pid) === null),
    );
  });

  it('include the process of a real kill as soon as it has ended', { skip: noOomKill }, async (t) => {
    const kills = new OomKills();
    t.after(() => kills.close());
    const child = overfull(t);
    await once(child, 'exit');
    assert.equal(child.signalCode, 'SIGKILL');
    kills.read();
    assert.equal(kills.ended(child.pid ?? 0), 'cgroup');
  });
});

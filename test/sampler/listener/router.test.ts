import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { ProcessEvent } from '../../../src/sampler/listener/process-table';
import type { Reply } from '../../../src/sampler/listener/protocol';
import type { Origin } from '../../../src/sampler/listener/orphans';
import { newRouter, type Router } from '../../../src/sampler/listener/router';
import { exec, exit, fork } from './events';

function routed(origins: ReadonlyMap<number, Origin> = new Map()): {
  readonly router: Router<string>;
  readonly heard: (follower: string) => readonly Reply[];
} {
  const sent = new Map<string, Reply[]>();
  const router = newRouter<string>(
    (follower, reply) => sent.set(follower, [...(sent.get(follower) ?? []), reply]),
    (pid) => origins.get(pid) ?? null,
  );
  return { router, heard: (follower) => sent.get(follower) ?? [] };
}

const moments = (replies: readonly Reply[]): readonly number[] =>
  replies.flatMap((reply) => ('at' in reply ? [reply.at] : []));

describe('the router', () => {
  it('sends each follower the events of its own descendants', () => {
    const { router, heard } = routed();
    router.follow('a', [10]);
    router.follow('b', [11]);
    const ofA = [fork(1, 10, 20), exec(3, 20), fork(5, 20, 21), exit(7, 20), exit(8, 21)];
    const ofB = [fork(2, 11, 30), exit(6, 30)];
    router.events([...ofA, ...ofB, fork(4, 12, 40), exec(9, 40)].sort((a, b) => a.at - b.at));
    assert.deepEqual([heard('a'), heard('b')], [ofA, ofB]);
  });

  it('sends the events of common descendants to both followers', () => {
    const { router, heard } = routed();
    router.follow('outer', [10]);
    router.events([fork(1, 10, 20)]);
    router.follow('inner', [20]);
    router.events([fork(2, 20, 21), exit(3, 21)]);
    assert.deepEqual(heard('outer'), [fork(1, 10, 20), fork(2, 20, 21), exit(3, 21)]);
    assert.deepEqual(heard('inner'), [fork(2, 20, 21), exit(3, 21)]);
  });

  it('sends a late follower the earlier events, then the later ones', () => {
    const { router, heard } = routed();
    const past = [fork(1, 10, 20), exec(2, 20), fork(3, 20, 21), exit(4, 20)];
    router.events(past);
    router.follow('late', [10]);
    assert.deepEqual(heard('late'), past);
    router.events([exec(5, 20), exec(6, 21), fork(7, 10, 22)]);
    assert.deepEqual(heard('late'), [...past, exec(6, 21), fork(7, 10, 22)]);
  });

  it('takes a reused pid for another process', () => {
    const { router, heard } = routed();
    router.follow('a', [10]);
    router.events([fork(1, 10, 20), exit(2, 20), fork(3, 99, 20), exec(4, 20), exit(5, 20)]);
    assert.deepEqual(heard('a'), [fork(1, 10, 20), exit(2, 20)]);
    // The exit of process 30 was lost.
    router.events([fork(6, 10, 30), fork(7, 99, 30), exec(8, 30)]);
    assert.deepEqual(heard('a').slice(2), [fork(6, 10, 30)]);
  });

  it('reports a loss to all followers, and sends later ones no events from before it', () => {
    const { router, heard } = routed();
    router.follow('a', [10]);
    router.follow('b', [11]);
    router.events([fork(1, 10, 20)]);
    router.lost('records', 2);
    assert.deepEqual(heard('a'), [fork(1, 10, 20), { kind: 'lost', what: 'records' }]);
    assert.deepEqual(heard('b'), [{ kind: 'lost', what: 'records' }]);
    router.follow('late', [10]);
    assert.deepEqual(heard('late'), []);
  });

  it('sends nothing to a follower that has left, and goes on with the others', () => {
    const { router, heard } = routed();
    router.follow('a', [10]);
    router.follow('b', [10]);
    router.leave('a');
    router.events([fork(1, 10, 20)]);
    router.lost('events', 1);
    assert.deepEqual([heard('a'), heard('b').length], [[], 2]);
  });

  it('sends the earlier events of a process once it is followed', () => {
    const { router, heard } = routed();
    router.events([fork(1, 20, 21), exec(2, 21)]);
    router.follow('a', [10]);
    assert.deepEqual(moments(heard('a')), []);
    router.follow('a', [20]);
    router.events([exit(3, 21), exec(4, 20)]);
    assert.deepEqual(moments(heard('a')), [1, 2, 3, 4]);
  });

  it('sends no event twice, however often its process is followed', () => {
    const { router, heard } = routed();
    router.events([fork(1, 10, 11), fork(2, 11, 12), exec(3, 12)]);
    router.follow('a', [12, 11, 10]);
    router.follow('a', [10, 11]);
    router.events([fork(4, 12, 13)]);
    router.follow('a', [13]);
    assert.deepEqual(moments(heard('a')), [1, 2, 3, 4]);
  });

  it('sends nothing of an earlier process with the same pid', () => {
    const { router, heard } = routed();
    router.events([fork(1, 10, 11), fork(2, 11, 12), exit(3, 11), fork(4, 90, 10), fork(5, 10, 14), fork(6, 90, 11)]);
    router.follow('a', [10]);
    router.events([exec(7, 12), exec(8, 14)]);
    assert.deepEqual(moments(heard('a')), [5, 8]);
  });

  describe('with a process whose parent has ended', () => {
    const others = { parent: 1, groups: '0' };
    const orphan = { parent: 1, groups: '1000 100 20001' };
    const begun = [fork(1, 10, 20), fork(2, 20, 21), exit(3, 20)];
    const strays = (replies: readonly Reply[]): readonly unknown[] => replies.filter(({ kind }) => kind === 'stray');
    const strayOf21 = [{ kind: 'stray', maker: 21 }];

    it('reports once a stray child of the new parent, which the process may have made', () => {
      const origins = new Map([
        [21, orphan],
        [30, orphan],
        [31, others],
      ]);
      const { router, heard } = routed(origins);
      router.follow('a', [10]);
      router.follow('b', [11]);
      router.events([...begun, fork(4, 1, 31), fork(5, 2, 30)]);
      assert.deepEqual(strays(heard('a')), []);
      router.events([fork(6, 1, 30)]);
      assert.deepEqual([strays(heard('a')), strays(heard('b'))], [strayOf21, []]);
      // One report is enough: the job's bounds stay open.
      router.events([fork(7, 1, 30)]);
      assert.deepEqual(strays(heard('a')), strayOf21);
    });

    it('reports no stray child after the end of the process', () => {
      const { router, heard } = routed(
        new Map([
          [21, orphan],
          [30, orphan],
        ]),
      );
      router.follow('a', [10]);
      router.events([...begun, exit(4, 21), fork(5, 1, 30)]);
      assert.deepEqual(strays(heard('a')), []);
    });

    it('reports a stray child that ended before it was looked at', () => {
      const { router, heard } = routed(new Map([[21, orphan]]));
      router.follow('a', [10]);
      router.events([...begun, fork(4, 1, 30), exit(5, 30)]);
      assert.deepEqual(strays(heard('a')), strayOf21);
    });

    it('reports a stray child where the parent had ended before anyone followed', () => {
      const { router, heard } = routed(new Map([[21, orphan]]));
      router.events(begun);
      router.follow('a', [10]);
      router.follow('a', [10]);
      router.events([fork(4, 1, 30)]);
      assert.deepEqual(strays(heard('a')), strayOf21);
    });

    it('sends plain forks where the new parent belongs to the job', () => {
      const { router, heard } = routed(new Map([[22, { ...orphan, parent: 20 }]]));
      router.follow('a', [10]);
      const events = [fork(1, 10, 20), fork(2, 20, 21), fork(3, 21, 22), exit(4, 21), fork(5, 20, 30)];
      router.events(events);
      assert.deepEqual(heard('a'), events);
    });
  });

  it('sends the same events, however late the follower comes', () => {
    const pid = fc.integer({ min: 10, max: 16 });
    const event = fc.oneof(
      fc.tuple(pid, pid).map(
        ([parent, child]) =>
          (at: number) =>
            fork(at, parent, child),
      ),
      pid.map((one) => (at: number) => exec(at, one)),
      pid.map((one) => (at: number) => exit(at, one)),
    );
    const history = fc
      .array(event, { maxLength: 30 })
      .map((events) => events.map((make, at): ProcessEvent => make(at)))
      // The ancestor is the shepherd: it was there before and outlives the job.
      .map((events) => events.filter((one) => (one.kind === 'fork' ? one.child : one.pid) !== 10))
      .map((events) => events.filter((one) => one.kind !== 'fork' || one.child !== one.parent));
    fc.assert(
      fc.property(history, fc.nat(30), (events, when) => {
        const { router, heard } = routed();
        router.follow('early', [10]);
        router.events(events.slice(0, when));
        router.follow('late', [10]);
        router.events(events.slice(when));
        assert.deepEqual(heard('late'), heard('early'));
      }),
      { numRuns: 1000 },
    );
  });
});

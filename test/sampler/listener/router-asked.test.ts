import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { ProcessEvent } from '../../../src/sampler/listener/process-table';
import { newRouter, type Router } from '../../../src/sampler/listener/router';

const fork = (at: number, parent: number, child: number): ProcessEvent => ({
  kind: 'fork',
  at,
  parent,
  child,
  thread: parent,
});
const exec = (at: number, pid: number): ProcessEvent => ({ kind: 'exec', at, pid });
const exit = (at: number, pid: number): ProcessEvent => ({ kind: 'exit', at, pid, account: null, oomKill: null });

/** What each follower heard: the moments of its events. */
function routed(): { readonly router: Router<string>; readonly heard: (follower: string) => readonly number[] } {
  const moments = new Map<string, number[]>();
  const router = newRouter<string>((follower, reply) => {
    if ('at' in reply) moments.set(follower, [...(moments.get(follower) ?? []), reply.at]);
  });
  return { router, heard: (follower) => moments.get(follower) ?? [] };
}

describe('who hears of which processes', () => {
  it('a follower, of all descendants, remembered ones first', () => {
    const { router, heard } = routed();
    router.events([fork(1, 10, 11), fork(2, 11, 12), fork(3, 90, 91), exit(4, 11)]);
    router.follow('a', [10]);
    router.events([exec(5, 12), exec(6, 91), fork(7, 12, 13)]);
    assert.deepEqual(heard('a'), [1, 2, 4, 5, 7]);
  });

  it('of those that were forked before anyone listened, once they are asked for', () => {
    const { router, heard } = routed();
    router.events([fork(1, 20, 21), exec(2, 21)]);
    router.follow('a', [10]);
    assert.deepEqual(heard('a'), []);
    router.follow('a', [20]);
    router.events([exit(3, 21), exec(4, 20)]);
    assert.deepEqual(heard('a'), [1, 2, 3, 4]);
  });

  it('nothing twice, however often they are asked for', () => {
    const { router, heard } = routed();
    router.events([fork(1, 10, 11), fork(2, 11, 12), exec(3, 12)]);
    router.follow('a', [12, 11, 10]);
    router.follow('a', [10, 11]);
    router.events([fork(4, 12, 13)]);
    router.follow('a', [13]);
    assert.deepEqual(heard('a'), [1, 2, 3, 4]);
  });

  it('nothing of an older process of the same number', () => {
    const { router, heard } = routed();
    router.events([fork(1, 10, 11), fork(2, 11, 12), exit(3, 11), fork(4, 90, 10), fork(5, 10, 14), fork(6, 90, 11)]);
    router.follow('a', [10]);
    router.events([exec(7, 12), exec(8, 14)]);
    assert.deepEqual(heard('a'), [5, 8]);
  });

  it('each its own, and nothing when it has left', () => {
    const { router, heard } = routed();
    router.follow('a', [10]);
    router.follow('b', [20]);
    router.events([fork(1, 10, 11), fork(2, 20, 21)]);
    router.leave('a');
    router.events([exec(3, 11), exec(4, 21)]);
    assert.deepEqual([heard('a'), heard('b')], [[1], [2, 4]]);
  });
});

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
const exit = (at: number, pid: number): ProcessEvent => ({ kind: 'exit', at, pid, account: null });
const NOBODY: ReadonlySet<number> = new Set();

function heard(): { readonly router: Router<string>; readonly by: (follower: string) => readonly string[] } {
  const told = new Map<string, string[]>();
  const router = newRouter<string>((follower, reply) => {
    const words = reply.kind === 'fork' ? `fork ${reply.child}` : 'pid' in reply ? `${reply.kind} ${reply.pid}` : '';
    told.set(follower, [...(told.get(follower) ?? []), words]);
  });
  return { router, by: (follower) => told.get(follower) ?? [] };
}

describe('the router of a listener', () => {
  it('tells each follower of its own ancestor’s descendants, and of nobody else', () => {
    const { router, by } = heard();
    router.follow('a', 10, NOBODY);
    router.follow('b', 20, NOBODY);
    router.events([
      fork(1, 10, 11),
      fork(2, 20, 21),
      fork(3, 11, 12),
      exec(4, 12),
      exit(5, 12),
      exit(6, 21),
      exec(7, 10),
    ]);
    assert.deepEqual(by('a'), ['fork 11', 'fork 12', 'exec 12', 'exit 12', 'exec 10']);
    assert.deepEqual(by('b'), ['fork 21', 'exit 21']);
  });

  it('tells one that comes late what is remembered', () => {
    const { router, by } = heard();
    router.events([fork(1, 10, 11), exec(2, 11), fork(3, 11, 12), exit(4, 12)]);
    router.follow('a', 10, NOBODY);
    router.events([fork(5, 11, 13)]);
    assert.deepEqual(by('a'), ['fork 11', 'exec 11', 'fork 12', 'exit 12', 'fork 13']);
  });

  it('tells of those that were there before anything is remembered, from then on', () => {
    const { router, by } = heard();
    router.follow('a', 10, new Set([11, 12]));
    router.events([fork(1, 12, 13), exit(2, 13), exit(3, 12), exit(4, 99)]);
    assert.deepEqual(by('a'), ['fork 13', 'exit 13', 'exit 12']);
  });

  it('forgets who has gone, and whose number another process has', () => {
    const { router, by } = heard();
    router.follow('a', 10, NOBODY);
    router.events([fork(1, 10, 11), exit(2, 11), fork(3, 77, 11), exec(4, 11)]);
    router.leave('a');
    router.events([fork(5, 10, 12)]);
    assert.deepEqual(by('a'), ['fork 11', 'exit 11']);
  });
});

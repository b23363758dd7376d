import { newHistory } from './history';
import type { ProcessEvent } from './process-table';
import type { Reply } from './protocol';

/** Who gets the events of which processes: each follower those that it asked for, and their descendants'. */
export interface Router<Follower> {
  /** From now on, and as far as remembered from before, `follower` gets the events of `ancestors` and their descendants. */
  follow(follower: Follower, ancestors: readonly number[]): void;
  events(events: readonly ProcessEvent[]): void;
  lost(what: 'events' | 'records', at: number): void;
  leave(follower: Follower): void;
  /** Whether anybody follows a process that lives. */
  isFollowed(): boolean;
}

export function newRouter<Follower>(send: (follower: Follower, reply: Reply) => void): Router<Follower> {
  const history = newHistory();
  const followers = new Set<Follower>();
  const members = new Map<number, Set<Follower>>();

  function join(pid: number, follower: Follower): void {
    const set = members.get(pid);
    if (set === undefined) members.set(pid, new Set([follower]));
    else set.add(follower);
  }

  function route(event: ProcessEvent): void {
    history.add(event);
    if (event.kind === 'fork') {
      // A number that is used again: what it stood for has gone.
      members.delete(event.child);
      for (const follower of members.get(event.parent) ?? []) {
        join(event.child, follower);
        send(follower, event);
      }
      return;
    }
    for (const follower of members.get(event.pid) ?? []) send(follower, event);
    if (event.kind === 'exit') members.delete(event.pid);
  }

  return {
    follow: (follower, ancestors) => {
      followers.add(follower);
      // Of those that it follows already it has heard everything.
      const past = history.of(ancestors.filter((pid) => members.get(pid)?.has(follower) !== true));
      for (const pid of past.members) join(pid, follower);
      for (const event of past.events) send(follower, event);
    },
    events: (events) => events.forEach(route),
    lost: (what, at) => {
      history.lost(at);
      for (const follower of followers) send(follower, { kind: 'lost', what });
    },
    leave: (follower) => {
      followers.delete(follower);
      for (const [pid, set] of members) {
        set.delete(follower);
        if (set.size === 0) members.delete(pid);
      }
    },
    isFollowed: () => members.size > 0,
  };
}

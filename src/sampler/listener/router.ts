import { newHistory } from './history';
import { Orphans, type Origin } from './orphans';
import type { ProcessEvent } from './process-table';
import type { Reply } from './protocol';

export type Router<Follower> = ReturnType<typeof newRouter<Follower>>;

/**
 * Passes events to followers: each gets those of the processes that it asked for, and of their descendants.
 * `originOf`: left out: by /proc.
 */
export function newRouter<Follower>(
  send: (follower: Follower, reply: Reply) => void,
  originOf?: (pid: number) => Origin | null,
) {
  const history = newHistory();
  const followers = new Set<Follower>();
  const members = new Map<number, Set<Follower>>();
  const orphans = new Orphans(originOf);

  function join(pid: number, follower: Follower): void {
    const set = members.get(pid);
    if (set === undefined) members.set(pid, new Set([follower]));
    else set.add(follower);
  }

  function forget(pid: number): void {
    members.delete(pid);
    orphans.ended(pid);
  }

  function route(event: ProcessEvent): void {
    history.add(event);
    if (event.kind === 'fork') {
      const { parent, child } = event;
      // The pid may be re-used: its former process has gone.
      forget(child);
      const ofParent = members.get(parent);
      if (ofParent !== undefined) orphans.forked(parent, child);
      for (const follower of ofParent ?? []) {
        join(child, follower);
        send(follower, event);
      }
      if (ofParent === undefined)
        for (const pid of orphans.makersOf(parent, child))
          for (const follower of members.get(pid) ?? []) send(follower, { kind: 'stray', maker: pid });
      return;
    }
    for (const follower of members.get(event.pid) ?? []) send(follower, event);
    if (event.kind === 'exit') forget(event.pid);
  }

  return {
    /** From now on, and as far as remembered from before, `follower` gets the events of `ancestors` and their descendants. */
    follow: (follower: Follower, ancestors: readonly number[]): void => {
      followers.add(follower);
      // It has heard everything about processes that it follows already.
      const past = history.of(ancestors.filter((pid) => members.get(pid)?.has(follower) !== true));
      for (const pid of past.members) join(pid, follower);
      for (const event of past.events) {
        if (event.kind === 'fork') orphans.forked(event.parent, event.child);
        else if (event.kind === 'exit') orphans.ended(event.pid);
        send(follower, event);
      }
    },
    events: (events: readonly ProcessEvent[]): void => events.forEach(route),
    lost: (what: 'events' | 'records', at: number): void => {
      history.lost(at);
      for (const follower of followers) send(follower, { kind: 'lost', what });
    },
    leave: (follower: Follower): void => {
      followers.delete(follower);
      for (const [pid, set] of members) {
        set.delete(follower);
        if (set.size === 0) members.delete(pid);
      }
    },
    /** Whether anybody follows a process that lives. */
    isFollowed: () => members.size > 0,
  };
}

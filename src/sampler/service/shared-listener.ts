import { connectListener, type ListenerHandlers, type ListenerLink } from '../listener/client';
import type { Reply } from '../listener/protocol';
import type { Settings } from '../../record/settings';

/** A connection to the listener that many jobs share: each gets its own processes' events, and one question serves all. */
export interface SharedListener {
  readonly connect: (handlers: ListenerHandlers) => Promise<ListenerLink | null>;
}

interface Member {
  readonly handlers: ListenerHandlers;
  readonly pids: Set<number>;
}

type NodeReply = Extract<Reply, { kind: 'node' }>;

export function shareListener(settingsPath: string, settings: Settings): SharedListener {
  const members = new Set<Member>();
  const owners = new Map<number, Member>();
  let link: Promise<ListenerLink | null> | null = null;
  let current: ListenerLink | null = null;
  /** Members that are on the way. */
  let joining = 0;
  let syncing: Promise<boolean> | null = null;
  let asking: Promise<NodeReply | null> | null = null;

  function own(pid: number, member: Member): void {
    owners.get(pid)?.pids.delete(pid);
    owners.set(pid, member);
    member.pids.add(pid);
  }

  function disown(pid: number): void {
    owners.get(pid)?.pids.delete(pid);
    owners.delete(pid);
  }

  function take(reply: Reply): void {
    switch (reply.kind) {
      case 'fork': {
        const owner = owners.get(reply.parent) ?? owners.get(reply.child);
        if (owner === undefined) return;
        own(reply.child, owner);
        owner.handlers.take(reply);
        return;
      }
      case 'exec':
        owners.get(reply.pid)?.handlers.take(reply);
        return;
      case 'exit':
        owners.get(reply.pid)?.handlers.take(reply);
        disown(reply.pid);
        return;
      case 'hello':
      case 'lost':
      case 'node':
      case 'synced':
      case 'values':
        for (const member of members) member.handlers.take(reply);
    }
  }

  function lost(): void {
    link = null;
    current = null;
    const all = [...members];
    members.clear();
    owners.clear();
    for (const { handlers } of all) handlers.lost();
  }

  function drop(shared: ListenerLink): void {
    if (current !== shared) return;
    shared.close();
    lost();
  }

  /** Without jobs the listener is left alone: it rests, or makes way for the next one. */
  function leaveUnused(): void {
    if (members.size > 0 || joining > 0) return;
    current?.close();
    link = null;
    current = null;
  }

  async function connected(): Promise<ListenerLink | null> {
    link ??= connectListener(settingsPath, settings, { take, lost });
    const found = await link;
    if (found === null) link = null;
    current = found;
    return found;
  }

  function sync(shared: ListenerLink, withinMs: number): Promise<boolean> {
    syncing ??= new Promise((resolve) => {
      // After all timers that are due now: jobs are looked at together.
      setImmediate(() => {
        // Who asks from now on wants to hear of what comes from now on.
        syncing = null;
        void shared.sync(withinMs).then((answered) => {
          // It is there and does not answer: as good as gone, for everybody.
          if (!answered) drop(shared);
          resolve(answered);
        });
      });
    });
    return syncing;
  }

  return {
    connect: async (handlers) => {
      joining++;
      const shared = await connected().finally(() => joining--);
      if (shared === null) return null;
      const member: Member = { handlers, pids: new Set() };
      members.add(member);
      return {
        hello: shared.hello,
        follow: (pids) => {
          for (const pid of pids) own(pid, member);
          shared.follow(pids);
        },
        sync: (withinMs) => (members.has(member) ? sync(shared, withinMs) : Promise.resolve(false)),
        read: (source, pids, withinMs) => shared.read(source, pids, withinMs),
        node: (withinMs) => {
          asking ??= shared.node(withinMs).finally(() => {
            asking = null;
          });
          return asking;
        },
        close: () => {
          members.delete(member);
          for (const pid of [...member.pids]) if (owners.get(pid) === member) disown(pid);
          leaveUnused();
        },
      };
    },
  };
}

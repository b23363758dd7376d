import { connectListener, type ListenerHandlers, type ListenerLink } from '../listener/client';
import type { NodeReply, Reply } from '../listener/protocol';
import type { Settings } from '../../record/settings';

interface Member {
  readonly handlers: ListenerHandlers;
  readonly pids: Set<number>;
}

/** A connection to the listener that many jobs share: each gets its processes' events, and one request serves all. */
export class SharedListener {
  private readonly members = new Set<Member>();
  private readonly owners = new Map<number, Member>();
  private link: Promise<ListenerLink | null> | null = null;
  private current: ListenerLink | null = null;
  /** Number of members that are connecting. */
  private joining = 0;
  private syncing: Promise<boolean> | null = null;
  private asking: Promise<NodeReply | null> | null = null;

  constructor(
    private readonly settingsPath: string,
    private readonly settings: Settings,
  ) {}

  /** As `connectListener`, for one of the jobs. */
  async connect(handlers: ListenerHandlers): Promise<ListenerLink | null> {
    this.joining++;
    const shared = await this.connected().finally(() => this.joining--);
    if (shared === null) return null;
    const member: Member = { handlers, pids: new Set() };
    this.members.add(member);
    return {
      hello: shared.hello,
      follow: (pids) => {
        for (const pid of pids) this.own(pid, member);
        shared.follow(pids);
      },
      sync: (withinMs) => (this.members.has(member) ? this.sync(shared, withinMs) : Promise.resolve(false)),
      read: (source, pids, withinMs) => shared.read(source, pids, withinMs),
      node: (withinMs) => {
        this.asking ??= shared.node(withinMs).finally(() => {
          this.asking = null;
        });
        return this.asking;
      },
      close: () => {
        this.members.delete(member);
        for (const pid of [...member.pids]) if (this.owners.get(pid) === member) this.disown(pid);
        this.leaveUnused();
      },
    };
  }

  private own(pid: number, member: Member): void {
    this.owners.get(pid)?.pids.delete(pid);
    this.owners.set(pid, member);
    member.pids.add(pid);
  }

  private disown(pid: number): void {
    this.owners.get(pid)?.pids.delete(pid);
    this.owners.delete(pid);
  }

  private take(reply: Reply): void {
    switch (reply.kind) {
      case 'fork': {
        const owner = this.owners.get(reply.parent) ?? this.owners.get(reply.child);
        if (owner === undefined) return;
        this.own(reply.child, owner);
        owner.handlers.take(reply);
        return;
      }
      case 'exec':
        this.owners.get(reply.pid)?.handlers.take(reply);
        return;
      case 'exit':
        this.owners.get(reply.pid)?.handlers.take(reply);
        this.disown(reply.pid);
        return;
      case 'stray':
        this.owners.get(reply.maker)?.handlers.take(reply);
        return;
      case 'hello':
      case 'lost':
      case 'node':
      case 'synced':
      case 'values':
        for (const member of this.members) member.handlers.take(reply);
    }
  }

  private lost(): void {
    this.link = null;
    this.current = null;
    const all = [...this.members];
    this.members.clear();
    this.owners.clear();
    for (const { handlers } of all) handlers.lost();
  }

  /** Disconnects if there are no jobs: then the listener rests, or makes way for the next one. */
  private leaveUnused(): void {
    if (this.members.size > 0 || this.joining > 0) return;
    this.current?.close();
    this.link = null;
    this.current = null;
  }

  private async connected(): Promise<ListenerLink | null> {
    this.link ??= connectListener(this.settingsPath, this.settings, {
      take: (reply) => this.take(reply),
      lost: () => this.lost(),
    });
    const found = await this.link;
    if (found === null) this.link = null;
    this.current = found;
    return found;
  }

  private sync(shared: ListenerLink, withinMs: number): Promise<boolean> {
    this.syncing ??= new Promise((resolve) => {
      // After all timers that are due now: jobs are read together.
      setImmediate(() => {
        // A job that asks from now on needs a new request, which covers the events until then.
        this.syncing = null;
        void shared.sync(withinMs).then((answered) => {
          // The listener is there but does not answer: as good as gone, for all jobs.
          if (!answered && this.current === shared) {
            shared.close();
            this.lost();
          }
          resolve(answered);
        });
      });
    });
    return this.syncing;
  }
}

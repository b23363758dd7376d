import { setTimeout as sleep } from 'node:timers/promises';
import type { TickReadings } from '../processes/tick';
import type { JobSampler } from './job-sampler';
import type { ListenerHandlers, ListenerLink } from '../listener/client';
import type { NodeReply, Reply } from '../listener/protocol';

/** Connects to the listener; null: it can't be reached. */
export type Connect = (handlers: ListenerHandlers) => Promise<ListenerLink | null>;

interface HearingHandlers {
  /** A process of the job forks, executes or ends, or such events can no longer be heard. */
  readonly stirred: () => void;
  /** The node's figures. */
  readonly node: (reply: NodeReply) => void;
}

const SYNC_WITHIN_MS = 3000;
const AGAIN_AFTER_MS = 500;
const AGAIN_AT_LATEST_MS = 60_000;

/**
 * How a job's sampler hears the kernel's events about the job's processes: through the node's listener. When that dies,
 * the sampler notes the loss and connects to the next one.
 */
export class KernelHearing {
  /** Resolves to null once events are heard, or to the reason why they can't be. */
  readonly ready: Promise<string | null>;
  private current: ListenerLink | null = null;
  private listening = false;
  private closed = false;
  /** Resolves when the last tick is settled. */
  private settled: Promise<void> = Promise.resolve();

  /** `ancestor`: processes that descend from this one are the job's. */
  constructor(
    private readonly ancestor: number,
    private readonly connect: Connect,
    private readonly sampler: JobSampler,
    private readonly handlers: HearingHandlers,
  ) {
    this.ready = this.begin();
    void this.ready.then((reason) => {
      if (reason !== null && this.current === null) void this.again();
    });
  }

  /** Waits, at most this long, until every event that the kernel has sent by now has arrived. */
  async catchUp(withinMs: number): Promise<void> {
    const all = this.ready.then(() => (this.listening ? this.current?.sync(withinMs) : undefined));
    await Promise.race([all, sleep(withinMs, undefined, { ref: false })]);
  }

  /** To be called after each tick: the tick is settled once all events up to it have arrived. */
  afterTick(readings: TickReadings): void {
    if (this.listening) this.settled = this.settle(readings);
  }

  /** Waits, at most this long, until the last tick is settled; else the sampler notes that the listener was lost. */
  async finish(withinMs: number): Promise<void> {
    const late = Symbol('late');
    const first = await Promise.race([this.settled, sleep(withinMs, late, { ref: false })]);
    // Without the last events the upper bounds would be too low.
    if (first === late) this.sampler.listenerLost();
  }

  /** Whether events of the job's processes are heard at present. */
  hears(): boolean {
    return this.listening;
  }

  /** null: no listener at present. */
  link(): ListenerLink | null {
    return this.current;
  }

  close(): void {
    this.closed = true;
    this.current?.close();
    this.current = null;
  }

  private take(reply: Reply): void {
    if (reply.kind === 'fork' || reply.kind === 'exec' || reply.kind === 'exit') {
      this.sampler.heard([reply]);
      this.handlers.stirred();
    } else if (reply.kind === 'lost') this.sampler.open('lost-records');
    else if (reply.kind === 'stray') this.sampler.open('unknown-origin');
    else if (reply.kind === 'node') this.handlers.node(reply);
  }

  private lost(): void {
    if (this.closed) return;
    this.current = null;
    if (this.listening) this.sampler.listenerLost();
    this.listening = false;
    this.handlers.stirred();
    void this.again();
  }

  private async again(afterMs = AGAIN_AFTER_MS): Promise<void> {
    // All samplers of the node lose the listener at the same moment: their attempts are spread out.
    await sleep(afterMs * (1 + Math.random()), undefined, { ref: false });
    if (this.closed) return;
    const reason = await this.begin();
    // No greeting: the listener is stopped, or the node too busy to start one. A later attempt may succeed.
    if (reason !== null && this.current === null) await this.again(Math.min(2 * afterMs, AGAIN_AT_LATEST_MS));
  }

  /** Returns why no events are heard; null: they are. */
  private async begin(): Promise<string | null> {
    const link = await this.connect({ take: (reply) => this.take(reply), lost: () => this.lost() });
    if (link === null) return 'the listener of this node could not be reached or started';
    if (this.closed) {
      link.close();
      return null;
    }
    this.current = link;
    if (link.hello.events !== null) return link.hello.events;
    this.sampler.listen();
    if (link.hello.records !== null) this.sampler.open('no-exit-records');
    // The listener does not know the parents of processes that were forked before it began to listen.
    link.follow([this.ancestor, ...this.sampler.pids()]);
    this.listening = true;
    await link.sync(SYNC_WITHIN_MS);
    return null;
  }

  private async settle(readings: TickReadings): Promise<void> {
    const link = this.current;
    if (link === null || !this.listening) return;
    if (await link.sync(SYNC_WITHIN_MS)) {
      const adopted = this.sampler.settle(readings);
      if (adopted.length > 0) link.follow(adopted);
    } else if (!this.closed && link === this.current) {
      // The listener is there but does not answer: as good as gone.
      link.close();
      this.lost();
    }
  }
}

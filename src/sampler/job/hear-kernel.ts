import { setTimeout as sleep } from 'node:timers/promises';
import type { TickReadings } from '../processes/job-processes';
import type { JobSampler } from './job-sampler';
import { connectListener, type ListenerHandlers, type ListenerLink } from '../listener/client';
import type { Reply } from '../listener/protocol';
import type { Settings } from '../../record/settings';

/** A job's sampler listening, through the node's listener, to what the kernel tells of the job's processes. */
export interface KernelHearing {
  /** Resolves when events are heard, or when it is clear that they can't be: then to the reason. */
  readonly ready: Promise<string | null>;
  /** Waits, at most so long, until all has come that the kernel has told by now. */
  catchUp(withinMs: number): Promise<void>;
  /** After each tick: it counts as soon as all events until then have come. */
  afterTick(readings: TickReadings): void;
  /** Waits, at most so long, until the last tick counts; the account says so if it does not. */
  finish(withinMs: number): Promise<void>;
  /** null: no listener at present. */
  link(): ListenerLink | null;
  close(): void;
}

/** How the listener is reached; null: it can't be. */
export type Connect = (handlers: ListenerHandlers) => Promise<ListenerLink | null>;

export type NodeReply = Extract<Reply, { kind: 'node' }>;

const SYNC_WITHIN_MS = 3000;
const AGAIN_AFTER_MS = 500;
const AGAIN_AT_LATEST_MS = 60_000;

export const NO_HEARING: KernelHearing = {
  ready: Promise.resolve('switched off'),
  catchUp: () => Promise.resolve(),
  afterTick: () => undefined,
  finish: () => Promise.resolve(),
  link: () => null,
  close: () => undefined,
};

/**
 * Connects to the listener (and starts it where there is none); when it dies, the account says so and the next one is
 * connected to. `node` gets the node's figures as they come.
 */
export function hearKernel(
  settingsPath: string,
  settings: Settings,
  ancestor: number,
  sampler: JobSampler,
  node: (reply: NodeReply) => void,
  connect: Connect = (handlers) => connectListener(settingsPath, settings, handlers),
): KernelHearing {
  let link: ListenerLink | null = null;
  let listening = false;
  let closed = false;
  let last: Promise<void> = Promise.resolve();

  function take(reply: Reply): void {
    if (reply.kind === 'fork' || reply.kind === 'exec' || reply.kind === 'exit') sampler.heard([reply]);
    else if (reply.kind === 'lost') sampler.open('lost-records');
    else if (reply.kind === 'node') node(reply);
  }

  function lost(): void {
    if (closed) return;
    link = null;
    if (listening) sampler.deafen('listener-lost');
    listening = false;
    void again();
  }

  async function again(afterMs = AGAIN_AFTER_MS): Promise<void> {
    // All samplers of the node lose it at the same moment.
    await sleep(afterMs * (1 + Math.random()), undefined, { ref: false });
    if (closed) return;
    const reason = await begin();
    // Nobody greeted us: one that is stopped, or a node too busy to start one. It may still come.
    if (reason !== null && link === null) await again(Math.min(2 * afterMs, AGAIN_AT_LATEST_MS));
  }

  async function begin(): Promise<string | null> {
    const connected = await connect({ take, lost });
    if (connected === null) return 'the listener of this node could not be reached or started';
    if (closed) {
      connected.close();
      return null;
    }
    link = connected;
    if (connected.hello.events !== null) return connected.hello.events;
    sampler.listen();
    if (connected.hello.records !== null) sampler.open('no-exit-records');
    // Whoever was forked before the listener could hear of it is nobody's descendant there.
    connected.follow([ancestor, ...sampler.pids()]);
    listening = true;
    await connected.sync(SYNC_WITHIN_MS);
    return null;
  }

  async function settle(readings: TickReadings): Promise<void> {
    const asked = link;
    if (asked === null || !listening) return;
    if (await asked.sync(SYNC_WITHIN_MS)) {
      const adopted = sampler.settle(readings);
      if (adopted.length > 0) asked.follow(adopted);
    } else if (!closed && asked === link) {
      // It is there and does not answer: as good as gone.
      asked.close();
      lost();
    }
  }

  const ready = begin();
  void ready.then((reason) => {
    if (reason !== null && link === null) void again();
  });

  return {
    ready,
    catchUp: async (withinMs) => {
      const all = ready.then(() => (listening ? link?.sync(withinMs) : undefined));
      await Promise.race([all, sleep(withinMs, undefined, { ref: false })]);
    },
    afterTick: (readings) => {
      if (listening) last = settle(readings);
    },
    finish: async (withinMs) => {
      const late = Symbol('late');
      const first = await Promise.race([last, sleep(withinMs, late, { ref: false })]);
      // Without the last events the sums end too early.
      if (first === late) sampler.deafen('listener-lost');
    },
    link: () => link,
    close: () => {
      closed = true;
      link?.close();
      link = null;
    },
  };
}

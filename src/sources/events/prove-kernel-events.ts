import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { MIB } from '../../base/units';
import { monotonicMs } from '../../base/monotonic';
import { readInteger } from '../files';
import { isUnavailable, unavailable, type Unavailable } from '../source';
import { NAMESPACE_FIX, openKernelEvents, type KernelEvents } from './kernel-events';

export interface KernelEventsProof {
  readonly processEvents: 'arrived' | Unavailable;
  readonly exitRecords: 'arrived' | Unavailable;
  /** Which messages about a child of our own arrived within a second of its end. */
  readonly arrived: {
    readonly fork: boolean;
    readonly exec: boolean;
    readonly exit: boolean;
    readonly record: boolean;
  };
  /** Whether exit records hold delays besides those for a CPU. */
  readonly delayAccounting: 'on' | Unavailable;
}

/** How long messages are waited for after the child's end, and how long that, which a busy machine may put off. */
const PROOF_MS = 1000;
const CHILD_MS = 30_000;
const STEP_MS = 5;
const RECEIVE_BYTES = 4 * MIB;

/**
 * Runs /bin/true and sees which events the kernel sends: silence is a sign of another network namespace. Never throws.
 */
export async function proveKernelEvents(namespacePath: string | null): Promise<KernelEventsProof> {
  const events = openKernelEvents({ namespacePath, receiveBytes: RECEIVE_BYTES });
  const delayAccounting = delayAccountingState();
  if (isUnavailable(events)) {
    const arrived = { fork: false, exec: false, exit: false, record: false };
    return { processEvents: events, exitRecords: events, arrived, delayAccounting };
  }
  const arrived = await watchChild(events);
  events.close();
  const silent = (what: string): Unavailable =>
    unavailable(`${what}: nothing came, as in another network namespace`, NAMESPACE_FIX);
  const judge = (state: 'open' | Unavailable, came: boolean, what: string): 'arrived' | Unavailable => {
    if (isUnavailable(state)) return state;
    return came ? 'arrived' : silent(what);
  };
  return {
    processEvents: judge(events.processEvents, arrived.fork && arrived.exec && arrived.exit, 'process events'),
    exitRecords: judge(events.exitRecords, arrived.record, 'exit records'),
    arrived,
    delayAccounting,
  };
}

async function watchChild(events: KernelEvents): Promise<KernelEventsProof['arrived']> {
  const arrived = { fork: false, exec: false, exit: false, record: false };
  const child = spawn('/bin/true', { stdio: 'ignore', env: {} });
  const ended = once(child, 'exit').catch(() => undefined);
  const drain = (): void => {
    events.drain({
      event: (event) => {
        const pid = event.kind === 'fork' ? event.childPid : event.pid;
        if (pid === child.pid) arrived[event.kind] = true;
      },
      record: ({ pid }) => {
        if (pid === child.pid) arrived.record = true;
      },
    });
  };
  let until = monotonicMs() + CHILD_MS;
  void ended.then(() => (until = monotonicMs() + PROOF_MS));
  for (;;) {
    const isOver = monotonicMs() > until;
    drain();
    const eventsDone = events.processEvents !== 'open' || (arrived.fork && arrived.exec && arrived.exit);
    const recordDone = events.exitRecords !== 'open' || arrived.record;
    if ((eventsDone && recordDone) || isOver) {
      await Promise.race([ended, sleep(STEP_MS)]);
      return arrived;
    }
    await sleep(STEP_MS);
  }
}

function delayAccountingState(): 'on' | Unavailable {
  // The switch came with Linux 5.14; before, delays were counted unless the kernel was started with nodelayacct.
  const state = readInteger('/proc/sys/kernel/task_delayacct');
  if (state === 0) return unavailable('delay accounting is off', 'sysctl kernel.task_delayacct=1');
  return 'on';
}

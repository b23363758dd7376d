import { reasonOf } from '../../base/user-error';
import { LibcError } from '../../native/libc';
import { enterNetworkNamespace } from '../../native/namespace';
import { openNetlink, type NetlinkSocket } from '../../native/netlink';
import { readLink, readText } from '../files';
import { isUnavailable, unavailable, type Unavailable } from '../source';
import { registerPayload } from './exit-records';
import { newRecordKeeper, type KeptExitRecord } from './kept-exit-records';
import { NLMSG_DONE, request } from './netlink-messages';
import {
  CN_IDX_PROC,
  detectGaps,
  parseProcessEvent,
  subscription,
  subscriptionAnswer,
  type ThreadEvent,
} from './process-events';
import { openTaskstats } from './taskstats-socket';

interface KernelEventsOptions {
  /** The initial network namespace, where this process is in another one; null: it is in it. */
  readonly namespacePath: string | null;
  /** Receive buffer of each socket in bytes. */
  readonly receiveBytes: number;
}

interface KernelEventHandlers {
  readonly event: (event: ThreadEvent) => void;
  readonly record: (record: KeptExitRecord) => void;
}

export interface KernelEvents {
  readonly processEvents: 'open' | Unavailable;
  readonly exitRecords: 'open' | Unavailable;
  /**
   * Hands over everything that the kernel had queued before the call: events first, each CPU's in their order, then
   * records. The kernel queues a thread's record before its exit event, so by the end of the call the record of every
   * exit event that was handed over has come, too, or is lost.
   *
   * lostEvents, lostRecords: some are missing since the last drain (a full receive buffer; for events also those that
   * the kernel had no memory for, as soon as a later event of that CPU comes). Never throws unless a handler does.
   */
  readonly drain: (handlers: KernelEventHandlers) => { readonly lostEvents: boolean; readonly lostRecords: boolean };
  readonly close: () => void;
}

const EPERM = 1;
const ENOENT = 2;
const EACCES = 13;
const EINVAL = 22;
const EPROTONOSUPPORT = 93;
const ECONNREFUSED = 111;

export const ROOT_FIX = 'run the hooks as root (root@ in the prolog)';
export const NAMESPACE_FIX =
  'set initial_network_namespace in qmemacct.toml to a file of the initial network namespace that root can enter';
const NO_CAPABILITY = 'no CAP_NET_ADMIN';
const OTHER_NETWORK = 'in another network namespace';

/** The fix for a reason that was passed on as text; null: there is none. */
export function kernelEventsFix(reason: string): string | null {
  if (reason.includes(OTHER_NETWORK)) return NAMESPACE_FIX;
  return reason.includes(NO_CAPABILITY) ? ROOT_FIX : null;
}

/**
 * Subscribes to the events and exit records of every process of the machine; each may be unavailable alone. In another
 * network namespace no exit records come; if the process connector is missing, too, nothing here shows that:
 * `proveKernelEvents` finds out.
 */
export function openKernelEvents(options: KernelEventsOptions): KernelEvents | Unavailable {
  const inNamespace = foreignNamespace();
  if (inNamespace !== null) return inNamespace;
  let leave: () => void = () => undefined;
  let notEntered: string | null = null;
  try {
    if (options.namespacePath !== null) leave = enterNetworkNamespace(options.namespacePath);
  } catch (error) {
    // Perhaps it is the one that this process is in: the kernel will say so.
    notEntered = `can't enter ${options.namespacePath ?? ''} (${reasonOf(error)})`;
  }
  const events = openProcessEvents(options.receiveBytes);
  const refused = isUnavailable(events) && events.fix === NAMESPACE_FIX;
  if (refused && notEntered !== null) return unavailable(`${events.unavailable}; ${notEntered}`, NAMESPACE_FIX);
  const records = refused ? events : openExitRecords(options.receiveBytes);
  try {
    leave();
  } catch (error) {
    for (const stream of [events, records]) if (!isUnavailable(stream)) stream.close();
    return unavailable(`can't leave ${options.namespacePath ?? ''}: ${reasonOf(error)}`);
  }
  return together(events, records);
}

function together(events: Stream<ThreadEvent> | Unavailable, records: Stream<KeptExitRecord> | Unavailable) {
  if (isUnavailable(events) && isUnavailable(records)) {
    if (events.unavailable === records.unavailable) return events;
    return unavailable(`${events.unavailable}; ${records.unavailable}`, events.fix ?? records.fix);
  }
  const opened: KernelEvents = {
    processEvents: isUnavailable(events) ? events : 'open',
    exitRecords: isUnavailable(records) ? records : 'open',
    drain: (handlers) => {
      const lostEvents = !isUnavailable(events) && events.drain(handlers.event);
      const lostRecords = !isUnavailable(records) && records.drain(handlers.record);
      return { lostEvents, lostRecords };
    },
    close: () => {
      for (const stream of [events, records]) if (!isUnavailable(stream)) stream.close();
    },
  };
  return opened;
}

interface Stream<Item> {
  /** Whether some were lost. */
  readonly drain: (onItem: (item: Item) => void) => boolean;
  readonly close: () => void;
}

/** Items that came while the subscription was being answered (`early`) wait for the first drain. */
function stream<Item>(
  early: { items: readonly Item[]; lost: boolean },
  drain: Stream<Item>['drain'],
  close: () => void,
): Stream<Item> {
  return {
    drain: (onItem) => {
      const { items, lost } = early;
      early = { items: [], lost: false };
      for (const item of items) onItem(item);
      return drain(onItem) || lost;
    },
    close,
  };
}

const NETLINK_CONNECTOR = 11;

/** How often a subscription is sent: a kernel without process events answers none. */
const MOST_TRIES = 10;

function openProcessEvents(receiveBytes: number): Stream<ThreadEvent> | Unavailable {
  let socket: NetlinkSocket;
  const groups = 1 << (CN_IDX_PROC - 1);
  try {
    socket = openNetlink({ protocol: NETLINK_CONNECTOR, groups, receiveBytes });
  } catch (error) {
    return noProcessEvents(error);
  }
  const acknowledge = Math.floor(Math.random() * 0x7fffffff);
  const send = (wanted: 'listen' | 'ignore'): void =>
    socket.send(request(NLMSG_DONE, 0, false, subscription(wanted, acknowledge)));
  const gaps = detectGaps();
  const drain = (onEvent: (event: ThreadEvent) => void, onAnswer?: (errno: number) => void): boolean => {
    const { lost } = socket.drain((buffer, offset, length) => {
      gaps.see(buffer, offset, length);
      const event = parseProcessEvent(buffer, offset, length);
      if (event !== null) {
        onEvent(event);
        return;
      }
      const answer = onAnswer === undefined ? null : subscriptionAnswer(buffer, offset, length, acknowledge);
      if (answer !== null) onAnswer?.(answer);
    });
    return gaps.settle(lost);
  };
  const early: ThreadEvent[] = [];
  const answer: { errno: number | null } = { errno: null };
  let lost = false;
  try {
    // When events, which others listen to, have filled the socket, there is no room for the answer: ask again.
    for (let tries = 0; answer.errno === null && tries < MOST_TRIES; tries++) {
      send('listen');
      const more = drain(
        (event) => early.push(event),
        (errno) => (answer.errno = errno),
      );
      lost ||= more;
    }
    if (answer.errno !== 0) throw new LibcError('PROC_CN_MCAST_LISTEN', answer.errno ?? ENOENT);
    return stream({ items: early, lost }, drain, () => {
      try {
        // Before Linux 6.6 the kernel counts listeners by their messages, not by their sockets.
        send('ignore');
      } catch {
        // Closing is enough: the count is set right by the next event that nobody receives.
      }
      socket.close();
    });
  } catch (error) {
    socket.close();
    return noProcessEvents(error);
  }
}

function noProcessEvents(error: unknown): Unavailable {
  switch (errnoOf(error)) {
    case EPERM:
    case EACCES:
      return unavailable(`process events: ${NO_CAPABILITY}`, ROOT_FIX);
    case EPROTONOSUPPORT:
      return unavailable('process events: the kernel has no process connector (CONFIG_CONNECTOR, module cn)');
    case ENOENT:
      return unavailable('process events: the kernel does not answer (no CONFIG_PROC_EVENTS)');
    case ECONNREFUSED:
      return unavailable(`process events and exit records: ${OTHER_NETWORK}`, NAMESPACE_FIX);
    default:
      return unavailable(`process events: ${reasonOf(error)}`);
  }
}

function openExitRecords(receiveBytes: number): Stream<KeptExitRecord> | Unavailable {
  const cpus = readText('/sys/devices/system/cpu/possible')?.trim();
  if (cpus === undefined || cpus === '') return unavailable('exit records: no /sys/devices/system/cpu/possible');
  try {
    const { socket, isTaskstats, ask } = openTaskstats(receiveBytes);
    const keep = newRecordKeeper();
    const kept = (onRecord: (record: KeptExitRecord) => void) => (buffer: Buffer, offset: number, length: number) => {
      if (!isTaskstats(buffer, offset)) return;
      const record = keep(buffer, offset, length);
      if (record !== null) onRecord(record);
    };
    try {
      const early: KeptExitRecord[] = [];
      const { lost } = ask(
        registerPayload(cpus),
        true,
        kept((record) => early.push(record)),
      );
      // The kernel takes a closed socket off its lists with the next record.
      return stream({ items: early, lost }, (onRecord) => socket.drain(kept(onRecord)).lost, socket.close);
    } catch (error) {
      socket.close();
      throw error;
    }
  } catch (error) {
    return noTaskstats(error);
  }
}

/** Why the TASKSTATS family gives nothing. */
function noTaskstats(error: unknown): Unavailable {
  switch (errnoOf(error)) {
    case EPERM:
      return unavailable(`exit records: ${NO_CAPABILITY}`, ROOT_FIX);
    case ENOENT:
      return unavailable('exit records: the kernel has no taskstats (CONFIG_TASKSTATS)');
    case EINVAL:
      return unavailable('exit records: refused, as in a PID or user namespace');
    default:
      return unavailable(`exit records: ${reasonOf(error)}`);
  }
}

/** Numbers of the initial namespaces (PROC_PID_INIT_INO, PROC_USER_INIT_INO since Linux 3.8). */
const INITIAL_NAMESPACES = { pid: 'pid:[4026531836]', user: 'user:[4026531837]' } as const;

/** The kernel serves only the initial namespaces; in others it stays silent. */
function foreignNamespace(): Unavailable | null {
  for (const [kind, initial] of Object.entries(INITIAL_NAMESPACES)) {
    const own = readLink(`/proc/self/ns/${kind}`);
    if (own !== null && own !== initial)
      return unavailable(`process events and exit records: in a ${kind.toUpperCase()} namespace (a container)`);
  }
  return null;
}

const errnoOf = (error: unknown): number => (error instanceof LibcError ? error.errno : 0);

import { holdsMessage, messageType, NLMSG_DONE, NLMSGHDR_BYTES } from './netlink-messages';

/**
 * Messages of the process connector (linux/cn_proc.h): nlmsghdr, cn_msg (20 bytes), proc_event. Process ids are those of
 * the initial PID namespace.
 */

interface ForkEvent {
  readonly kind: 'fork';
  /** µs of CLOCK_MONOTONIC. Taken before the event is queued: events of two CPUs may be queued in another order. */
  readonly at: number;
  /**
   * For a thread (childPid differs from childTgid) and a child made with CLONE_PARENT: the parent that getppid()
   * returns, not the caller.
   */
  readonly parentPid: number;
  readonly parentTgid: number;
  readonly childPid: number;
  readonly childTgid: number;
}

interface ExecEvent {
  readonly kind: 'exec';
  readonly at: number;
  readonly pid: number;
  readonly tgid: number;
}

/**
 * One thread has ended. The end of the leader (pid equals tgid) is not the end of the process while other threads live;
 * when one of them calls exec, it takes the leader's id, and an ExecEvent of that id follows the leader's ExitEvent.
 */
interface ExitEvent {
  readonly kind: 'exit';
  readonly at: number;
  readonly pid: number;
  readonly tgid: number;
  /** The signal that ended it, or 0. */
  readonly signal: number;
}

export type ThreadEvent = ForkEvent | ExecEvent | ExitEvent;

export const CN_IDX_PROC = 1;
const CN_VAL_PROC = 1;
const CN_MSG_BYTES = 20;

const IDX = NLMSGHDR_BYTES;
const VAL = NLMSGHDR_BYTES + 4;
const SEQUENCE = NLMSGHDR_BYTES + 8;
const ACKNOWLEDGED = NLMSGHDR_BYTES + 12;
const WHAT = NLMSGHDR_BYTES + CN_MSG_BYTES;
const CPU = WHAT + 4;
const TIMESTAMP = WHAT + 8;
const DATA = WHAT + 16;

const WHAT_NONE = 0;
const WHAT_FORK = 1;
const WHAT_EXEC = 2;
const WHAT_EXIT = 0x80000000;

function isProcessMessage(buffer: Buffer, offset: number, length: number): boolean {
  return (
    holdsMessage(buffer, offset, length) &&
    length >= DATA &&
    messageType(buffer, offset) === NLMSG_DONE &&
    buffer.readUInt32LE(offset + IDX) === CN_IDX_PROC &&
    buffer.readUInt32LE(offset + VAL) === CN_VAL_PROC
  );
}

/** The event in one netlink message; null: another kind of event (ids, names, tracing), or no process event at all. */
export function parseProcessEvent(buffer: Buffer, offset: number, length: number): ThreadEvent | null {
  if (!isProcessMessage(buffer, offset, length)) return null;
  const data = offset + DATA;
  const dataBytes = length - DATA;
  switch (buffer.readUInt32LE(offset + WHAT)) {
    case WHAT_FORK:
      if (dataBytes < 16) return null;
      return {
        kind: 'fork',
        at: microseconds(buffer, offset),
        parentPid: buffer.readInt32LE(data),
        parentTgid: buffer.readInt32LE(data + 4),
        childPid: buffer.readInt32LE(data + 8),
        childTgid: buffer.readInt32LE(data + 12),
      };
    case WHAT_EXEC:
      if (dataBytes < 8) return null;
      return {
        kind: 'exec',
        at: microseconds(buffer, offset),
        pid: buffer.readInt32LE(data),
        tgid: buffer.readInt32LE(data + 4),
      };
    case WHAT_EXIT:
      if (dataBytes < 12) return null;
      return {
        kind: 'exit',
        at: microseconds(buffer, offset),
        pid: buffer.readInt32LE(data),
        tgid: buffer.readInt32LE(data + 4),
        // The low bits of a wait status, wait(2).
        signal: buffer.readUInt32LE(data + 8) & 0x7f,
      };
    default:
      return null;
  }
}

function microseconds(buffer: Buffer, offset: number): number {
  const low = buffer.readUInt32LE(offset + TIMESTAMP);
  const high = buffer.readUInt32LE(offset + TIMESTAMP + 4);
  return high * (2 ** 32 / 1000) + low / 1000;
}

/** The kernel's answer to a subscription with this `acknowledge` number: its errno (0: success); null: no answer to it. */
export function subscriptionAnswer(buffer: Buffer, offset: number, length: number, acknowledge: number): number | null {
  if (!isProcessMessage(buffer, offset, length) || length < DATA + 4) return null;
  if (buffer.readUInt32LE(offset + WHAT) !== WHAT_NONE) return null;
  if (buffer.readUInt32LE(offset + ACKNOWLEDGED) !== (acknowledge + 1) >>> 0) return null;
  return buffer.readUInt32LE(offset + DATA);
}

interface GapDetector {
  /** To be called with every message of the socket: those of other kinds share the numbers. */
  readonly see: (buffer: Buffer, offset: number, length: number) => void;
  /**
   * Whether events are missing among those seen since the last call. alreadyLost: a loss is known (ENOBUFS), and the
   * gap that the next event of each CPU shows is not reported again.
   */
  readonly settle: (alreadyLost: boolean) => boolean;
}

/** Before Linux 4.7, answers to subscriptions name no CPU and carry the sender's number. */
const NO_CPU = 0xffffffff;

/**
 * Finds lost events without ENOBUFS (the kernel gives up silently when it has no memory for the message): each
 * CPU numbers its events while anyone listens. Before Linux 4.7 two events of a CPU could be queued in the wrong order
 * (the number was taken with preemption on), so a gap counts only if it is still open when settled.
 */
export function detectGaps(): GapDetector {
  const expected = new Map<number, number>();
  let missing = 0;
  return {
    see: (buffer, offset, length) => {
      if (!isProcessMessage(buffer, offset, length)) return;
      const cpu = buffer.readUInt32LE(offset + CPU);
      if (cpu === NO_CPU) return;
      const sequence = buffer.readUInt32LE(offset + SEQUENCE);
      const ahead = (sequence - (expected.get(cpu) ?? sequence)) | 0;
      if (ahead < 0) {
        missing = Math.max(0, missing - 1);
        return;
      }
      missing += ahead;
      expected.set(cpu, (sequence + 1) >>> 0);
    },
    settle: (alreadyLost) => {
      const lost = alreadyLost || missing > 0;
      missing = 0;
      if (alreadyLost) expected.clear();
      return lost;
    },
  };
}

const PROC_CN_MCAST_LISTEN = 1;
const PROC_CN_MCAST_IGNORE = 2;

/**
 * cn_msg that starts or ends the events. From Linux 6.6 on, a filter of kinds may follow the 4-byte command. None is
 * sent: what a filter drops is a gap in the numbers.
 */
export function subscription(wanted: 'listen' | 'ignore', acknowledge: number): Buffer {
  const message = Buffer.alloc(CN_MSG_BYTES + 4);
  message.writeUInt32LE(CN_IDX_PROC, 0);
  message.writeUInt32LE(CN_VAL_PROC, 4);
  message.writeUInt32LE(acknowledge >>> 0, 12);
  message.writeUInt16LE(4, 16);
  message.writeUInt32LE(wanted === 'listen' ? PROC_CN_MCAST_LISTEN : PROC_CN_MCAST_IGNORE, CN_MSG_BYTES);
  return message;
}

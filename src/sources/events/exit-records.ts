import { forEachAttribute, GENLMSGHDR_BYTES, genericPayload, holdsMessage, NLMSGHDR_BYTES } from './netlink-messages';
import { taskstatsAt, type Taskstats } from './taskstats';

/**
 * What the kernel reports of a thread that ends (generic netlink family TASKSTATS). Every thread gives one record; what is
 * about memory is that of the address space as it is then, shared with the threads that live on: the maximum over a
 * process's records is the process's mark. Only its last program's: an exec begins a new address space.
 */
export interface ExitRecord {
  /** The thread's id in the initial PID namespace. */
  readonly pid: number;
  readonly uid: number;
  readonly comm: string;
  /**
   * CPU time on the scheduler's clock (sum_exec_runtime) until it last looked: at the last tick or switch, so the final
   * slice (4 ms with 250 ticks a second) is missing, and of a shorter life all. null where the kernel doesn't fill it in
   * (older ones, with delay accounting off).
   */
  readonly cpuNs: number | null;
  readonly userUs: number;
  readonly systemUs: number;
  readonly minorFaults: number;
  readonly majorFaults: number;
  /** Highest RSS and address space. 0 for kernel threads. */
  readonly hiwaterRssBytes: number;
  readonly hiwaterVmBytes: number;
  /** Bytes and calls of read(2) and write(2); the kernel rounds both down to multiples of 1024. */
  readonly readChars: number;
  readonly writeChars: number;
  readonly readSyscalls: number;
  readonly writeSyscalls: number;
  /** Bytes from and to storage, rounded down likewise. */
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly cancelledWriteBytes: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  /** RSS and address space, each times the CPU time used, in MiB times µs. */
  readonly coremem: number;
  readonly virtmem: number;
  /** Nanoseconds that it waited; all 0 where delay accounting is off (kernel.task_delayacct), except those for a CPU. */
  readonly delays: Delays;
}

/** null: this kernel doesn't count that. */
interface Delays {
  /** Runnable, waiting for a CPU. */
  readonly cpu: number | null;
  /** Synchronous block I/O. */
  readonly blockIo: number | null;
  readonly swapIn: number | null;
  /** Direct reclaim: looking for free pages. */
  readonly freePages: number | null;
  readonly thrashing: number | null;
  readonly compact: number | null;
}

const TASKSTATS_CMD_GET = 1;
const TASKSTATS_CMD_NEW = 2;
const TYPE_PID = 1;
const TYPE_STATS = 3;
const TYPE_AGGR_PID = 4;
const CMD_ATTR_REGISTER_CPUMASK = 3;
const KIB = 1024;

/** Of which thread the record in one netlink message of the TASKSTATS family is; null: it is something else. */
export function exitRecordPid(buffer: Buffer, offset: number, length: number): number | null {
  return recordOfTask(buffer, offset, length)?.id ?? null;
}

/** The record in one netlink message of the TASKSTATS family; null: something else, or cut off. */
export function parseExitRecord(buffer: Buffer, offset: number, length: number): ExitRecord | null {
  const task = recordOfTask(buffer, offset, length);
  const stats = task === null ? null : taskstatsAt(buffer, task.stats, task.statsBytes);
  if (task === null || stats === null) return null;
  return {
    pid: task.id,
    uid: stats.u32('uid'),
    comm: stats.comm(),
    cpuNs: cpuNsOf(stats),
    userUs: stats.u64('user'),
    systemUs: stats.u64('system'),
    minorFaults: stats.u64('minorFaults'),
    majorFaults: stats.u64('majorFaults'),
    hiwaterRssBytes: stats.u64('hiwaterRss') * KIB,
    hiwaterVmBytes: stats.u64('hiwaterVm') * KIB,
    readChars: stats.u64('readChars'),
    writeChars: stats.u64('writeChars'),
    readSyscalls: stats.u64('readSyscalls'),
    writeSyscalls: stats.u64('writeSyscalls'),
    readBytes: stats.u64('readBytes'),
    writeBytes: stats.u64('writeBytes'),
    cancelledWriteBytes: stats.u64('cancelledWriteBytes'),
    voluntarySwitches: stats.u64('voluntarySwitches'),
    involuntarySwitches: stats.u64('involuntarySwitches'),
    coremem: stats.u64('coremem'),
    virtmem: stats.u64('virtmem'),
    delays: {
      cpu: stats.delay('cpu'),
      blockIo: stats.delay('blockIo'),
      swapIn: stats.delay('swapIn'),
      freePages: stats.delay('freePages'),
      thrashing: stats.delay('thrashing'),
      compact: stats.delay('compact'),
    },
  };
}

/** Asks for the records of tasks that end on these CPUs ("0-3,8"). */
export const registerPayload = (cpus: string): Buffer =>
  genericPayload(TASKSTATS_CMD_GET, CMD_ATTR_REGISTER_CPUMASK, Buffer.from(`${cpus}\0`));

interface TaskRecord {
  readonly id: number;
  readonly stats: number;
  readonly statsBytes: number;
}

function recordOfTask(buffer: Buffer, offset: number, length: number): TaskRecord | null {
  const attributes = NLMSGHDR_BYTES + GENLMSGHDR_BYTES;
  if (!holdsMessage(buffer, offset, length) || length < attributes) return null;
  if (buffer.readUInt8(offset + NLMSGHDR_BYTES) !== TASKSTATS_CMD_NEW) return null;
  let found: TaskRecord | null = null;
  forEachAttribute(buffer, offset + attributes, offset + length, (type, at, bytes) => {
    if (type === TYPE_AGGR_PID) found ??= taskRecord(buffer, at, bytes);
  });
  return found;
}

function taskRecord(buffer: Buffer, offset: number, length: number): TaskRecord | null {
  const found = { id: -1, stats: -1, statsBytes: 0 };
  forEachAttribute(buffer, offset, offset + length, (type, at, bytes) => {
    if (type === TYPE_PID && bytes === 4) found.id = buffer.readUInt32LE(at);
    if (type === TYPE_STATS) [found.stats, found.statsBytes] = [at, bytes];
  });
  return found.id < 0 || found.stats < 0 ? null : found;
}

/** With a tick comes both: user or system time, and what the scheduler counts. */
function cpuNsOf(stats: Taskstats): number | null {
  const ns = stats.u64('cpuRunVirtual');
  return ns === 0 && stats.u64('user') + stats.u64('system') > 0 ? null : ns;
}

import { forEachAttribute, GENLMSGHDR_BYTES, genericPayload, holdsMessage, NLMSGHDR_BYTES } from './netlink-messages';
import { exitCodeOf, signalOf } from './process-events';
import { taskstatsAt, type Delays, type Taskstats } from './taskstats';

/**
 * What the kernel reports of a thread that ends (generic netlink family TASKSTATS). Every thread gives one record; what is
 * about memory is that of the address space as it is then, shared with the threads that live on: the maximum over a
 * process's records is the process's mark. Only its last program's: an exec begins a new address space.
 */
export interface ExitRecord {
  /** The thread's id in the initial PID namespace. */
  readonly pid: number;
  /** Its process; null where the kernel doesn't say (before taskstats version 12, other than for the last of a group). */
  readonly tgid: number | null;
  /**
   * Its process has ended with it. null: not known; before version 12 the only thread of a process and one that leaves
   * others behind look alike.
   */
  readonly lastOfGroup: boolean | null;
  readonly uid: number;
  /** The parent process; 0: none any more. */
  readonly ppid: number;
  readonly comm: string;
  /** Of struct taskstats. */
  readonly version: number;
  /** `ExitFlag`s. */
  readonly flags: number;
  /** AFORK. Told of leaders only: false for every other thread. */
  readonly forkedNoExec: boolean;
  /** 0 where a signal ended it. Before Linux 5.17 (and its stable siblings) 0 for all but the leader. */
  readonly exitCode: number;
  /** The signal that ended it, or 0. */
  readonly signal: number;
  /** Begin, in seconds after 1970. */
  readonly beginSeconds: number;
  readonly elapsedUs: number;
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
  readonly delays: Delays;
  /** Sums over the process's threads; null unless it was the last of several. */
  readonly group: { readonly cpuNs: number | null; readonly delays: Delays } | null;
}

/** linux/acct.h */
export const ExitFlag = { AFORK: 0x01, ASU: 0x02, ACORE: 0x08, AXSIG: 0x10, AGROUP: 0x20 } as const;

const TASKSTATS_CMD_GET = 1;
const TASKSTATS_CMD_NEW = 2;
const TYPE_PID = 1;
const TYPE_TGID = 2;
const TYPE_STATS = 3;
const TYPE_AGGR_PID = 4;
const TYPE_AGGR_TGID = 5;
const CMD_ATTR_REGISTER_CPUMASK = 3;
/** From this version on AGROUP is set. */
const VERSION_AGROUP = 12;
const KIB = 1024;

/** Of which thread the record in one netlink message of the TASKSTATS family is; null: it is something else. */
export function exitRecordPid(buffer: Buffer, offset: number, length: number): number | null {
  return aggregates(buffer, offset, length).task?.id ?? null;
}

/** The record in one netlink message of the TASKSTATS family; null: something else, or cut off. */
export function parseExitRecord(buffer: Buffer, offset: number, length: number): ExitRecord | null {
  const { task, group } = aggregates(buffer, offset, length);
  if (task === null) return null;
  const stats = taskstatsAt(buffer, task.stats, task.statsBytes);
  if (stats === null) return null;
  const flags = stats.u8('flags');
  const status = stats.u32('exitStatus');
  const reported = stats.has('tgid', 4) ? stats.u32('tgid') : null;
  const ended = group !== null || (flags & ExitFlag.AGROUP) !== 0;
  return {
    pid: task.id,
    tgid: group?.id ?? reported,
    lastOfGroup: ended || (stats.version < VERSION_AGROUP ? null : false),
    uid: stats.u32('uid'),
    ppid: stats.u32('ppid'),
    comm: stats.comm(),
    version: stats.version,
    flags,
    forkedNoExec: (flags & ExitFlag.AFORK) !== 0,
    exitCode: exitCodeOf(status),
    signal: signalOf(status),
    beginSeconds: stats.has('begin64', 8) ? stats.u64('begin64') : stats.u32('begin'),
    elapsedUs: stats.u64('elapsed'),
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
    delays: stats.delays(),
    group: group === null ? null : groupSums(buffer, group, stats),
  };
}

/** Asks for the records of tasks that end on these CPUs ("0-3,8"). */
export const registerPayload = (cpus: string): Buffer =>
  genericPayload(TASKSTATS_CMD_GET, CMD_ATTR_REGISTER_CPUMASK, Buffer.from(`${cpus}\0`));

interface Aggregate {
  readonly id: number;
  readonly stats: number;
  readonly statsBytes: number;
}

interface Aggregates {
  task: Aggregate | null;
  group: Aggregate | null;
}

function aggregates(buffer: Buffer, offset: number, length: number): Readonly<Aggregates> {
  const found: Aggregates = { task: null, group: null };
  const attributes = NLMSGHDR_BYTES + GENLMSGHDR_BYTES;
  if (!holdsMessage(buffer, offset, length) || length < attributes) return found;
  if (buffer.readUInt8(offset + NLMSGHDR_BYTES) !== TASKSTATS_CMD_NEW) return found;
  forEachAttribute(buffer, offset + attributes, offset + length, (type, at, bytes) => {
    if (type === TYPE_AGGR_PID) found.task ??= aggregate(buffer, at, bytes, TYPE_PID);
    if (type === TYPE_AGGR_TGID) found.group ??= aggregate(buffer, at, bytes, TYPE_TGID);
  });
  return found;
}

function aggregate(buffer: Buffer, offset: number, length: number, idType: number): Aggregate | null {
  const found = { id: -1, stats: -1, statsBytes: 0 };
  forEachAttribute(buffer, offset, offset + length, (type, at, bytes) => {
    if (type === idType && bytes === 4) found.id = buffer.readUInt32LE(at);
    if (type === TYPE_STATS) [found.stats, found.statsBytes] = [at, bytes];
  });
  return found.id < 0 || found.stats < 0 ? null : found;
}

/** With a tick comes both: user or system time, and what the scheduler counts. */
function cpuNsOf(stats: Taskstats): number | null {
  const ns = stats.u64('cpuRunVirtual');
  return ns === 0 && stats.u64('user') + stats.u64('system') > 0 ? null : ns;
}

function groupSums(buffer: Buffer, group: Aggregate, task: Taskstats): ExitRecord['group'] {
  const stats = taskstatsAt(buffer, group.stats, group.statsBytes, task.version);
  if (stats === null) return null;
  return { cpuNs: cpuNsOf(task) === null ? null : stats.u64('cpuRunVirtual'), delays: stats.delays() };
}

import { KIB, MIB } from '../../base/units';
import { forEachAttribute, GENLMSGHDR_BYTES, genericPayload, holdsMessage, NLMSGHDR_BYTES } from './netlink-messages';
import { DELAYS, taskstatsAt } from './taskstats';

/** Bytes, nanoseconds, counts. */
const COUNTS = [
  /** Highest RSS and address space. 0 for kernel threads. */
  'rssBytes',
  'vmBytes',
  /**
   * CPU time by the scheduler's clock (sum_exec_runtime) up to its last update, at a tick or switch: the final slice
   * (up to 4 ms with 250 ticks a second) is missing, for a shorter life everything. By ticks if the kernel doesn't fill
   * it in (older ones, with delay accounting off).
   */
  'cpuNs',
  'minorFaults',
  'majorFaults',
  /** Bytes and calls of read(2) and write(2); the kernel rounds both down to multiples of 1024. */
  'readChars',
  'writeChars',
  'readSyscalls',
  'writeSyscalls',
  /** Bytes from and to storage, rounded down likewise. */
  'readBytes',
  'writeBytes',
  'cancelledWriteBytes',
  'voluntarySwitches',
  'involuntarySwitches',
  /** RSS and address space, each times the CPU time used (coremem, virtmem), in bytes times µs. */
  'rssByteUs',
  'vmByteUs',
] as const;

/**
 * Counts and delays. A delay is 0 if this kernel doesn't count it or (other than for a CPU) kernel.task_delayacct is
 * off.
 */
export const RECORD_FIGURES = [...COUNTS, ...DELAYS] as const;

type RecordFigure = (typeof RECORD_FIGURES)[number];

/**
 * What the kernel reports of a thread that ends (generic netlink family TASKSTATS). Every thread gives one record; its
 * memory figures are those of the address space at that moment, shared with the threads that live on, so the maximum
 * over a process's records is the process's high-water mark. It covers the last program only: an exec begins a new
 * address space.
 */
export interface ExitRecord extends Readonly<Record<RecordFigure, number>> {
  /** The thread's id in the initial PID namespace. */
  readonly pid: number;
  readonly uid: number;
  readonly comm: string;
}

const TASKSTATS_CMD_GET = 1;
const TASKSTATS_CMD_NEW = 2;
const TYPE_PID = 1;
const TYPE_STATS = 3;
const TYPE_AGGR_PID = 4;
const CMD_ATTR_REGISTER_CPUMASK = 3;
/** Figures that the kernel counts in other units. */
const UNITS = [
  ['rssBytes', KIB],
  ['vmBytes', KIB],
  ['rssByteUs', MIB],
  ['vmByteUs', MIB],
] as const;

/** Records are filled-in copies of this: made several times faster than objects that grow field by field. */
const EMPTY: { -readonly [Field in keyof ExitRecord]: ExitRecord[Field] } = {
  ...(Object.fromEntries(RECORD_FIGURES.map((field) => [field, 0])) as Record<RecordFigure, number>),
  pid: -1,
  uid: -1,
  comm: '',
};

/** Id of the thread whose record is in one netlink message of the TASKSTATS family; null: it holds something else. */
export function exitRecordPid(buffer: Buffer, offset: number, length: number): number | null {
  return recordOfTask(buffer, offset, length)?.id ?? null;
}

/** The record in one netlink message of the TASKSTATS family; null: something else, or cut off. */
export function parseExitRecord(buffer: Buffer, offset: number, length: number): ExitRecord | null {
  const task = recordOfTask(buffer, offset, length);
  const stats = task === null ? null : taskstatsAt(buffer, task.stats, task.statsBytes);
  if (task === null || stats === null) return null;
  const record = { ...EMPTY };
  record.pid = task.id;
  record.uid = stats.u32('uid');
  record.comm = stats.comm();
  for (const field of COUNTS) record[field] = stats.u64(field);
  for (const [field, unit] of UNITS) record[field] *= unit;
  for (const field of DELAYS) record[field] = stats.delay(field);
  // A tick updates both the scheduler's time and user or system time: the former is 0 only if the kernel leaves it out.
  if (record.cpuNs === 0) record.cpuNs = (stats.u64('userUs') + stats.u64('systemUs')) * 1000;
  return record;
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

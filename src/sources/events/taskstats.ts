import { readU64 } from './netlink-messages';

/**
 * struct taskstats (linux/taskstats.h). Fields are only ever added at its end, so its length says which are there: 328
 * bytes in version 8 (up to Linux 4.19), 344 in 9, 352 in 10, 368 in 11, 400 in 12, 416 in 13, 432 in 14, 560 in 16, 688
 * in 17. Version 15 (first releases of Linux 6.14 and 6.15) alone put two fields after each delay.
 */

/** Offsets of the fields that are used, by the figures of an ExitRecord that are made from them. */
const LAYOUT = {
  cpuDelayNs: 16,
  blockIoDelayNs: 32,
  swapInDelayNs: 48,
  cpuNs: 72,
  comm: 80,
  uid: 120,
  userUs: 152,
  systemUs: 160,
  minorFaults: 168,
  majorFaults: 176,
  rssByteUs: 184,
  vmByteUs: 192,
  rssBytes: 200,
  vmBytes: 208,
  readChars: 216,
  writeChars: 224,
  readSyscalls: 232,
  writeSyscalls: 240,
  readBytes: 248,
  writeBytes: 256,
  cancelledWriteBytes: 264,
  voluntarySwitches: 272,
  involuntarySwitches: 280,
  freePagesDelayNs: 312,
  thrashingDelayNs: 328,
  compactDelayNs: 352,
} as const;

type Field = keyof typeof LAYOUT;
type Layout = Readonly<Record<Field, number>>;

/** Each delay is a count and nanoseconds. */
export const DELAYS = [
  /** Runnable, waiting for a CPU. */
  'cpuDelayNs',
  /** Synchronous block I/O. */
  'blockIoDelayNs',
  'swapInDelayNs',
  /** Direct reclaim: looking for free pages. */
  'freePagesDelayNs',
  'thrashingDelayNs',
  'compactDelayNs',
] as const;
const DELAY_BYTES = 16;
/**
 * The longest mean wait for a CPU that is believed. From 6.12 on, Linux on a busy host sometimes counts a whole sleep
 * as such a wait: the thread fell asleep while it was owed no CPU time, and was moved to another CPU before it was
 * taken off the queue.
 */
const MOST_CPU_WAIT_NS = 1e8;

/** Every field lies 16 bytes further on for each delay before it. */
const LAYOUT_15 = Object.fromEntries(
  Object.entries(LAYOUT).map(([field, offset]: [string, number]) => [
    field,
    offset + DELAY_BYTES * DELAYS.filter((delay) => LAYOUT[delay] < offset).length,
  ]),
) as Layout;

/** Version 8, the oldest that is read. */
const LEAST_BYTES = 328;
const COMM_BYTES = 32;

/** Reads fields of one struct taskstats. */
interface Taskstats {
  readonly u32: (field: Field) => number;
  readonly u64: (field: Field) => number;
  readonly comm: () => string;
  /** Nanoseconds; 0 where this kernel doesn't count that. */
  readonly delay: (field: (typeof DELAYS)[number]) => number;
}

/** null: too short to be one. */
export function taskstatsAt(buffer: Buffer, offset: number, length: number): Taskstats | null {
  if (offset < 0 || length < LEAST_BYTES || offset + length > buffer.length) return null;
  const layout: Layout = buffer.readUInt16LE(offset) === 15 ? LAYOUT_15 : LAYOUT;
  const has = (field: Field, bytes: number): boolean => layout[field] + bytes <= length;
  if (!has('involuntarySwitches', 8)) return null;
  return {
    u32: (field) => buffer.readUInt32LE(offset + layout[field]),
    u64: (field) => readU64(buffer, offset + layout[field]),
    comm: () => {
      const start = offset + layout.comm;
      const end = buffer.indexOf(0, start);
      return buffer.toString('utf8', start, end < 0 ? start + COMM_BYTES : Math.min(end, start + COMM_BYTES));
    },
    delay: (field) => {
      if (!has(field, DELAY_BYTES)) return 0;
      const waited = readU64(buffer, offset + layout[field] + 8);
      return field === 'cpuDelayNs'
        ? Math.min(waited, readU64(buffer, offset + layout[field]) * MOST_CPU_WAIT_NS)
        : waited;
    },
  };
}

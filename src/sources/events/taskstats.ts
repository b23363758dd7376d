import { readU64 } from './netlink-messages';

/**
 * struct taskstats (linux/taskstats.h). Fields are only ever added at its end, so its length says which are there: 328
 * bytes in version 8 (up to Linux 4.19), 344 in 9, 352 in 10, 368 in 11, 400 in 12, 416 in 13, 432 in 14, 560 in 16, 688
 * in 17. Version 15 (first releases of Linux 6.14 and 6.15) alone put two fields after each delay.
 */

/** Waits of one kind. All zero where delay accounting is off (kernel.task_delayacct), except those for a CPU. */
interface Delay {
  readonly count: number;
  readonly ns: number;
}

/** null: this kernel doesn't count that. */
export interface Delays {
  /** Runnable, waiting for a CPU. */
  readonly cpu: Delay;
  /** Synchronous block I/O. */
  readonly blockIo: Delay;
  readonly swapIn: Delay;
  /** Direct reclaim: looking for free pages. */
  readonly freePages: Delay | null;
  readonly thrashing: Delay | null;
  readonly compact: Delay | null;
  /** Copying a write-protected page. */
  readonly wpcopy: Delay | null;
  /** Interrupted by hard and soft interrupts. */
  readonly irq: Delay | null;
}

interface Layout {
  readonly version: number;
  readonly exitStatus: number;
  readonly flags: number;
  readonly cpu: number;
  readonly blockIo: number;
  readonly swapIn: number;
  readonly cpuRunVirtual: number;
  readonly comm: number;
  readonly uid: number;
  readonly pid: number;
  readonly ppid: number;
  readonly begin: number;
  readonly elapsed: number;
  readonly user: number;
  readonly system: number;
  readonly minorFaults: number;
  readonly majorFaults: number;
  readonly coremem: number;
  readonly virtmem: number;
  readonly hiwaterRss: number;
  readonly hiwaterVm: number;
  readonly readChars: number;
  readonly writeChars: number;
  readonly readSyscalls: number;
  readonly writeSyscalls: number;
  readonly readBytes: number;
  readonly writeBytes: number;
  readonly cancelledWriteBytes: number;
  readonly voluntarySwitches: number;
  readonly involuntarySwitches: number;
  readonly freePages: number;
  readonly thrashing: number;
  readonly begin64: number;
  readonly compact: number;
  readonly tgid: number;
  readonly wpcopy: number;
  readonly irq: number;
}

const LAYOUT: Layout = {
  version: 0,
  exitStatus: 4,
  flags: 8,
  cpu: 16,
  blockIo: 32,
  swapIn: 48,
  cpuRunVirtual: 72,
  comm: 80,
  uid: 120,
  pid: 128,
  ppid: 132,
  begin: 136,
  elapsed: 144,
  user: 152,
  system: 160,
  minorFaults: 168,
  majorFaults: 176,
  coremem: 184,
  virtmem: 192,
  hiwaterRss: 200,
  hiwaterVm: 208,
  readChars: 216,
  writeChars: 224,
  readSyscalls: 232,
  writeSyscalls: 240,
  readBytes: 248,
  writeBytes: 256,
  cancelledWriteBytes: 264,
  voluntarySwitches: 272,
  involuntarySwitches: 280,
  freePages: 312,
  thrashing: 328,
  begin64: 344,
  compact: 352,
  tgid: 368,
  wpcopy: 400,
  irq: 416,
};

const DELAYS = ['cpu', 'blockIo', 'swapIn', 'freePages', 'thrashing', 'compact', 'wpcopy', 'irq'] as const;
const DELAY_BYTES = 16;

/** Every field lies 16 bytes further on for each delay before it. */
const LAYOUT_15 = Object.fromEntries(
  Object.entries(LAYOUT).map(([field, offset]: [string, number]) => [
    field,
    offset + DELAY_BYTES * DELAYS.filter((delay) => LAYOUT[delay] < offset).length,
  ]),
) as unknown as Layout;

/** Version 8, the oldest that is read. */
const LEAST_BYTES = 328;
const COMM_BYTES = 32;

/** Reads fields of one struct taskstats. */
export interface Taskstats {
  readonly version: number;
  readonly has: (field: keyof Layout, bytes: number) => boolean;
  readonly u8: (field: keyof Layout) => number;
  readonly u32: (field: keyof Layout) => number;
  readonly u64: (field: keyof Layout) => number;
  readonly comm: () => string;
  readonly delays: () => Delays;
}

/** null: too short to be one. `knownVersion`: some kernels leave it out of a group's sums. */
export function taskstatsAt(buffer: Buffer, offset: number, length: number, knownVersion?: number): Taskstats | null {
  if (offset < 0 || length < LEAST_BYTES || offset + length > buffer.length) return null;
  const version = knownVersion ?? buffer.readUInt16LE(offset);
  const layout = version === 15 ? LAYOUT_15 : LAYOUT;
  const has = (field: keyof Layout, bytes: number): boolean => layout[field] + bytes <= length;
  if (!has('involuntarySwitches', 8)) return null;
  const always = (field: keyof Layout): Delay => ({
    count: readU64(buffer, offset + layout[field]),
    ns: readU64(buffer, offset + layout[field] + 8),
  });
  const delay = (field: keyof Layout): Delay | null => (has(field, DELAY_BYTES) ? always(field) : null);
  return {
    version,
    has,
    u8: (field) => buffer.readUInt8(offset + layout[field]),
    u32: (field) => buffer.readUInt32LE(offset + layout[field]),
    u64: (field) => readU64(buffer, offset + layout[field]),
    comm: () => {
      const start = offset + layout.comm;
      const end = buffer.indexOf(0, start);
      return buffer.toString('utf8', start, end < 0 ? start + COMM_BYTES : Math.min(end, start + COMM_BYTES));
    },
    delays: () => ({
      cpu: always('cpu'),
      blockIo: always('blockIo'),
      swapIn: always('swapIn'),
      freePages: delay('freePages'),
      thrashing: delay('thrashing'),
      compact: delay('compact'),
      wpcopy: delay('wpcopy'),
      irq: delay('irq'),
    }),
  };
}

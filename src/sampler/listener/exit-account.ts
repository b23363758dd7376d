import type { ExitRecord } from '../../sources/events/exit-records';

/**
 * What the kernel says of a whole process at its end: its threads' exit records (taskstats), added up. Marks are the
 * largest of them: each describes the one address space of all. Bytes, nanoseconds, counts.
 */
export const EXIT_FIELDS = [
  /** The most that lived at one time; and how many ended. */
  'threads',
  'threadExits',
  'rssBytes',
  'vmBytes',
  'cpuNs',
  'minorFaults',
  'majorFaults',
  'readChars',
  'writeChars',
  'readSyscalls',
  'writeSyscalls',
  'readBytes',
  'writeBytes',
  'cancelledWriteBytes',
  'voluntarySwitches',
  'involuntarySwitches',
  'rssByteUs',
  'vmByteUs',
  'cpuDelayNs',
  'blockIoDelayNs',
  'swapInDelayNs',
  'freePagesDelayNs',
  'thrashingDelayNs',
  'compactDelayNs',
] as const;

type ExitField = (typeof EXIT_FIELDS)[number];

export interface ExitAccount extends Readonly<Record<ExitField, number>> {
  readonly uid: number;
  /** Of the process's first thread; empty: its record did not come. */
  readonly command: string;
  /** The record of the last thread came: the marks are final. */
  readonly final: boolean;
  /** The records of all threads came: the sums are whole. */
  readonly whole: boolean;
}

const MIB = 1024 * 1024;

/** One thread's record as the account of a process of one thread. */
function fromThread(record: ExitRecord): Omit<ExitAccount, 'command' | 'final' | 'whole' | 'threads' | 'threadExits'> {
  return {
    uid: record.uid,
    rssBytes: record.hiwaterRssBytes,
    vmBytes: record.hiwaterVmBytes,
    cpuNs: record.cpuNs ?? (record.userUs + record.systemUs) * 1000,
    minorFaults: record.minorFaults,
    majorFaults: record.majorFaults,
    readChars: record.readChars,
    writeChars: record.writeChars,
    readSyscalls: record.readSyscalls,
    writeSyscalls: record.writeSyscalls,
    readBytes: record.readBytes,
    writeBytes: record.writeBytes,
    cancelledWriteBytes: record.cancelledWriteBytes,
    voluntarySwitches: record.voluntarySwitches,
    involuntarySwitches: record.involuntarySwitches,
    rssByteUs: record.coremem * MIB,
    vmByteUs: record.virtmem * MIB,
    cpuDelayNs: record.delays.cpu ?? 0,
    blockIoDelayNs: record.delays.blockIo ?? 0,
    swapInDelayNs: record.delays.swapIn ?? 0,
    freePagesDelayNs: record.delays.freePages ?? 0,
    thrashingDelayNs: record.delays.thrashing ?? 0,
    compactDelayNs: record.delays.compact ?? 0,
  };
}

const LARGEST: ReadonlySet<ExitField> = new Set(['threads', 'rssBytes', 'vmBytes']);

const NOTHING = Object.fromEntries(EXIT_FIELDS.map((field) => [field, 0])) as Record<ExitField, number>;

/**
 * Adds what another thread of process `pid` had; `record` ended later. Threads have names of their own: the process has
 * that of its first one.
 */
export function addThread(
  account: ExitAccount | null,
  record: ExitRecord | null,
  pid: number,
  threads: number,
): ExitAccount {
  const own = record === null ? null : fromThread(record);
  const sums = { ...NOTHING, ...own, threads, threadExits: 1 };
  if (account !== null)
    for (const field of EXIT_FIELDS)
      sums[field] = LARGEST.has(field) ? Math.max(sums[field], account[field]) : sums[field] + account[field];
  return {
    ...sums,
    uid: own?.uid ?? account?.uid ?? -1,
    command: (record?.pid === pid ? record.comm : account?.command) ?? '',
    final: own !== null,
    whole: own !== null && (account?.whole ?? true),
  };
}

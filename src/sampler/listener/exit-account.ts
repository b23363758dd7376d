import { RECORD_FIGURES, type ExitRecord } from '../../sources/events/exit-records';

/**
 * What the kernel says of a whole process at its end: its threads' exit records (taskstats), added up. Marks are the
 * largest of them: each describes the one address space of all. Bytes, nanoseconds, counts.
 */
export const EXIT_FIELDS = [
  /** The most that lived at one time; and how many ended. */
  'threads',
  'threadExits',
  ...RECORD_FIGURES,
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

const LARGEST: ReadonlySet<ExitField> = new Set(['threads', 'rssBytes', 'vmBytes']);

/** A copy of it, filled in, is made several times faster than an object that grows. */
const NOTHING: { -readonly [Field in keyof ExitAccount]: ExitAccount[Field] } = {
  ...(Object.fromEntries(EXIT_FIELDS.map((field) => [field, 0])) as Record<ExitField, number>),
  uid: -1,
  command: '',
  final: false,
  whole: false,
};

/**
 * Adds what another thread of process `pid` had; `record` ended later. Threads have names of their own: the process has
 * that of its first one.
 */
export function addThread(
  before: ExitAccount | null,
  record: ExitRecord | null,
  pid: number,
  threads: number,
): ExitAccount {
  const account = { ...NOTHING };
  account.threads = threads;
  account.threadExits = 1;
  if (record !== null) for (const field of RECORD_FIGURES) account[field] = record[field];
  if (before !== null)
    for (const field of EXIT_FIELDS)
      account[field] = LARGEST.has(field) ? Math.max(account[field], before[field]) : account[field] + before[field];
  account.uid = record?.uid ?? before?.uid ?? -1;
  account.command = (record?.pid === pid ? record.comm : before?.command) ?? '';
  account.final = record !== null;
  account.whole = record !== null && (before?.whole ?? true);
  return account;
}

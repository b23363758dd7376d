import { RECORD_FIGURES, type ExitRecord } from '../../sources/events/exit-records';

/**
 * What the kernel says of a whole process at its end: its threads' exit records (taskstats), added up. Of marks the
 * largest is taken: each describes the address space that all threads share. Bytes, nanoseconds, counts.
 */
export const EXIT_FIELDS = [
  /** Most threads that lived at one time; threads that ended. */
  'threads',
  'threadExits',
  ...RECORD_FIGURES,
] as const;

type ExitField = (typeof EXIT_FIELDS)[number];

export interface ExitAccount extends Readonly<Record<ExitField, number>> {
  readonly uid: number;
  /** Command of the process's first thread; empty: that thread's record did not come. */
  readonly command: string;
  /** The record of the last thread came: the marks are final. */
  readonly final: boolean;
  /** The records of all threads came: the sums are whole. */
  readonly whole: boolean;
}

const LARGEST: ReadonlySet<ExitField> = new Set(['threads', 'rssBytes', 'vmBytes']);

/** Copying this and filling it in is several times faster than letting an object grow. */
const NOTHING: { -readonly [Field in keyof ExitAccount]: ExitAccount[Field] } = {
  ...(Object.fromEntries(EXIT_FIELDS.map((field) => [field, 0])) as Record<ExitField, number>),
  uid: -1,
  command: '',
  final: false,
  whole: false,
};

/**
 * Adds the record (null: none came) of another thread of process `pid`, which ended after those in `before`. Threads
 * have names of their own; the process gets the name of its first one.
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

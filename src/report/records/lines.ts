import { byJob } from '../../accounting/attempts';
import { perHost, unusedByteSeconds, type JobLine } from '../../accounting/job-line';
import { largestFirst } from '../../base/largest-first';
import { heldBytes } from '../../record/cause';
import { countedAt, requestedBytes } from '../../record/facts';
import type { RecordSort } from '../../accounting/sorts';
import type { JobRecord } from '../../record/record';

/** The records behind one line: one, or the tasks and runs of a job. */
export type RecordLine = readonly [JobRecord, ...JobRecord[]];

const wallclockOf = (record: JobRecord): number => record.wallclock_seconds ?? 0;

const sumOf =
  (of: (record: JobRecord) => number) =>
  (line: readonly JobRecord[]): number =>
    line.reduce((total, record) => total + of(record), 0);

const mostOf =
  (of: (record: JobRecord) => number) =>
  (line: RecordLine): number =>
    line.reduce((most, record) => Math.max(most, of(record)), -Infinity);

/** The value that each order sorts lines by; for a single record it is that of the stores. */
const WEIGHT: Readonly<Record<RecordSort, (line: RecordLine) => number>> = {
  time: mostOf(countedAt),
  wallclock: mostOf(wallclockOf),
  cpu: sumOf((record) => record.cpu_seconds ?? 0),
  peak: mostOf((record) => heldBytes(record) ?? 0),
  requested: (line) => sumOf((record) => (requestedBytes(record) ?? 0) * wallclockOf(record))(perHost(line)),
  unused: (line) => unusedByteSeconds(line) ?? -1,
};

/** Lines that were added up, the latest first. */
export const newestFirst = (lines: readonly JobLine[]): readonly JobLine[] =>
  largestFirst(lines, ({ ends }) =>
    ends.reduce((most, { record }) => Math.max(most, WEIGHT.time([record])), -Infinity),
  );

/** A line per record, largest or latest first. */
export function toLines(records: readonly JobRecord[], sort: RecordSort): RecordLine[] {
  return largestFirst(
    records.map((record) => [record]),
    WEIGHT[sort],
  );
}

/** A line per job, its tasks and runs together, largest or latest first; the records have ATTEMPT_FIELDS. */
export function toJobLines(records: readonly JobRecord[], sort: RecordSort): RecordLine[] {
  return largestFirst(
    byJob(records).flatMap(([first, ...rest]) => (first === undefined ? [] : [[first, ...rest] as const])),
    WEIGHT[sort],
  );
}

/** Records, largest or latest first. */
export function sortRecords<T extends { readonly record: JobRecord }>(items: readonly T[], sort: RecordSort): T[] {
  return largestFirst(items, ({ record }) => WEIGHT[sort]([record]));
}

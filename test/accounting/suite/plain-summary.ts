import { countedAt, factsOf, JOB_SPAN_MS } from '../../../src/record/facts';
import { nameClass } from '../../../src/record/name-class';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../../../src/accounting/summary';
import { summaryAnswer, zoneOffset } from '../../../src/accounting/summary-answer';
import { addFacts, addShiftedHours, newSums } from '../../../src/record/sums';
import type { JobRecord } from '../../../src/record/record';
import { DAY, iso } from './fixture';

const sameJob = (a: JobRecord, b: JobRecord): boolean =>
  a.cluster === b.cluster && a.job_id === b.job_id && a.task_id === b.task_id;

/** Whether the record counts for its host: of a parallel job that of the master, or of the first slave task. */
export function standsForHost(record: JobRecord, all: readonly JobRecord[]): boolean {
  if (record.pe_task_id === null) return true;
  return (
    record.pe_task_id.startsWith('1.') &&
    !all.some((other) => other.pe_task_id === null && other.host === record.host && sameJob(other, record))
  );
}

/** The job name under which a record counts: a slave task without one has that of the master nearest in time. */
export function nameOf(record: JobRecord, all: readonly JobRecord[]): string | null {
  if (record.job_name !== null || record.pe_task_id === null) return record.job_name;
  const apart = (other: JobRecord): number => Math.abs(countedAt(other) - countedAt(record));
  const [nearest] = all
    .filter((other) => other.pe_task_id === null && other.job_name !== null && other.owner === record.owner)
    .filter((other) => sameJob(other, record) && apart(other) <= JOB_SPAN_MS)
    .sort((a, b) => apart(a) - apart(b) || ((a.job_name ?? '') < (b.job_name ?? '') ? -1 : 1));
  return nearest?.job_name ?? null;
}

function keyOf(record: JobRecord, by: SummaryQuery['by'], all: readonly JobRecord[]): string | null {
  if (by === 'day') return iso(countedAt(record)).slice(0, 10);
  if (by === 'job_name') {
    const name = nameOf(record, all);
    return name === null ? null : nameClass(name);
  }
  return record[by];
}

/** The summary that a store must give, except for `read`, computed from all its records without index or roll-up. */
export function plainSummary(
  given: readonly JobRecord[],
  query: SummaryQuery,
  selects: (record: JobRecord) => boolean,
): SummaryAnswer {
  const counted = given.filter(({ trust }) => query.self_reported === true || trust !== 'self-reported');
  const records = counted.filter(
    (record) => countedAt(record) >= query.since && countedAt(record) < query.until && selects(record),
  );
  const jobsOf = (some: readonly JobRecord[]): number =>
    new Set(some.map((record) => `${record.cluster}/${record.job_id}/${record.task_id ?? 0}`)).size;
  const sumsOf = (some: readonly JobRecord[]): ReturnType<typeof newSums> => {
    const sums = newSums();
    for (const record of some)
      addFacts(
        sums,
        factsOf(
          record,
          standsForHost(record, counted),
          counted.filter((other) => sameJob(other, record)),
        ),
        countedAt(record),
      );
    sums.totals.jobs = jobsOf(some);
    return sums;
  };
  const groups = [...new Set(records.map((record) => keyOf(record, query.by, given)))].map((key): SummaryGroup => ({
    key,
    totals: sumsOf(records.filter((record) => keyOf(record, query.by, given) === key)).totals,
  }));
  const { totals, shares, coverage } = sumsOf(records);
  const hours = newSums().hours;
  for (const record of records)
    addShiftedHours(hours, sumsOf([record]).hours, (hour) => zoneOffset(Math.floor(countedAt(record) / DAY), hour));
  return summaryAnswer({ groups, totals, hours, shares, coverage, read: records.length }, query);
}

import { countedAt, factsOf } from '../../../src/accounting/facts';
import { nameClass } from '../../../src/accounting/name-class';
import type { SummaryAnswer, SummaryGroup, SummaryQuery } from '../../../src/accounting/summary';
import { summaryAnswer, zoneOffset } from '../../../src/accounting/summary-answer';
import { addFacts, addShiftedHours, DEFAULT_FAR_BELOW, newSums, stepsOf } from '../../../src/accounting/sums';
import type { JobRecord } from '../../../src/sampler/record';
import { DAY, iso } from './fixture';

const sameJob = (a: JobRecord, b: JobRecord): boolean =>
  a.cluster === b.cluster && a.job_id === b.job_id && a.task_id === b.task_id;

/** Of each host of a parallel job one record counts: the master's, or that of the first task. */
export function standsForHost(record: JobRecord, all: readonly JobRecord[]): boolean {
  if (record.pe_task_id === null) return true;
  return (
    record.pe_task_id.startsWith('1.') &&
    !all.some((other) => other.pe_task_id === null && other.host === record.host && sameJob(other, record))
  );
}

function keyOf(record: JobRecord, by: SummaryQuery['by']): string | null {
  if (by === 'day') return iso(countedAt(record)).slice(0, 10);
  if (by === 'job_name') return record.job_name === null ? null : nameClass(record.job_name);
  return record[by];
}

/** What a store is to answer, computed from all its records without any index or roll-up: `read` aside. */
export function plainSummary(
  all: readonly JobRecord[],
  query: SummaryQuery,
  selects: (record: JobRecord) => boolean,
): SummaryAnswer {
  const records = all.filter(
    (record) => countedAt(record) >= query.since && countedAt(record) < query.until && selects(record),
  );
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  const jobsOf = (some: readonly JobRecord[]): number =>
    new Set(some.map((record) => `${record.cluster}/${record.job_id}/${record.task_id ?? 0}`)).size;
  const sumsOf = (some: readonly JobRecord[]): ReturnType<typeof newSums> => {
    const sums = newSums();
    for (const record of some) addFacts(sums, factsOf(record, standsForHost(record, all)), countedAt(record), steps);
    sums.totals.jobs = jobsOf(some);
    return sums;
  };
  const groups = [...new Set(records.map((record) => keyOf(record, query.by)))].map((key): SummaryGroup => ({
    key,
    totals: sumsOf(records.filter((record) => keyOf(record, query.by) === key)).totals,
  }));
  const { totals, shares, coverage } = sumsOf(records);
  const hours = newSums().hours;
  for (const record of records)
    addShiftedHours(hours, sumsOf([record]).hours, zoneOffset(Math.floor(countedAt(record) / DAY)));
  return summaryAnswer({ groups, totals, hours, shares, coverage, read: records.length }, query);
}

import { largestOfKnown } from '../../base/known';
import { H_VMEM, measuredFor } from '../../gridengine/memory-complex';
import { CLOSE_TO_LIMIT, countedByGridEngine, countedTogether, memoryEnd } from '../../record/cause';
import { figureOf, judgedEnd, shareOf } from '../../record/peak-figure';
import type { Bracket, JobRecord } from '../../record/record';
import { complexOf, limitOf } from '../../record/request';
import { FAR_BELOW_LIMIT } from '../../record/sums';

type NeedQuantity = ReturnType<typeof measuredFor>[number];

/** What a request must not be smaller than, on one host. */
export interface Need {
  readonly bytes: number;
  readonly quantity: NeedQuantity;
  readonly bracket: Bracket;
}

const decisive = (record: JobRecord): readonly NeedQuantity[] => measuredFor(complexOf(record));

let latest: { readonly record: JobRecord | null; readonly need: Need | null } = { record: null, need: null };

/** The largest of the peaks that the record's request limits, by `judgedEnd`. null: none is known. */
export function needOf(record: JobRecord): Need | null {
  // Callers ask several times for a record before they go on to the next of thousands.
  if (record !== latest.record) latest = { record, need: largestNeed(record) };
  return latest.need;
}

function largestNeed(record: JobRecord): Need | null {
  let most: NeedQuantity | null = null;
  let bytes = -1;
  for (const quantity of decisive(record)) {
    const bracket = record[quantity];
    const end = bracket === null ? -1 : judgedEnd(bracket);
    if (end > bytes) [most, bytes] = [quantity, end];
  }
  const bracket = most === null ? null : record[most];
  return most === null || bracket === null ? null : { bytes, quantity: most, bracket };
}

/** The records of a job, judged by h_vmem where that stopped the job, whatever complex the site steers memory by. */
export function judgedByStoppingLimit(records: readonly JobRecord[]): readonly JobRecord[] {
  return records.some(wasStoppedByVmem) ? records.map(judgedByVmem) : records;
}

/** Whether h_vmem stopped the job. */
export const wasStoppedByVmem = (record: JobRecord): boolean =>
  ['execd', 'refusal'].includes(memoryEnd(record)?.by ?? '');

/** The record judged by h_vmem, if it has a request of that. */
export function judgedByVmem(record: JobRecord): JobRecord {
  return record.h_vmem === null ? record : judgedBy(record, H_VMEM);
}

/** The complex that the next request of a job is for; `records`: all records of the job. */
export const nextRequestComplex = (job: JobRecord, records: readonly JobRecord[]): string =>
  complexOf(records.some(wasStoppedByVmem) ? judgedByVmem(job) : job);

/** The record judged by this complex, whether it requested that or not. */
export function judgedBy(record: JobRecord, complex: string): JobRecord {
  return complexOf(record) === complex ? record : { ...record, request_order: complex };
}

/**
 * How near a record came to its limit, to order records by; by Grid Engine's figure where no peak was measured. Without
 * a limit nearly 0; -1: nothing is known.
 */
export const fullness = (record: JobRecord): number =>
  nearness(needOf(record)?.bytes ?? countedByGridEngine(record), limitOf(record));

const nearness = (bytes: number | null, limit: number | null): number =>
  bytes === null ? -1 : (shareOf(bytes, limit) ?? bytes / 2 ** 60);

/**
 * The fullness of one run, from its records, the master's first: that of the fullest record, or, where none was
 * measured, of Grid Engine's figures added up.
 */
export function fullnessOfRun(records: readonly JobRecord[]): number {
  const [master, ...others] = records;
  if (master === undefined || others.length === 0 || records.some((record) => needOf(record) !== null))
    return records.reduce((most, record) => Math.max(most, fullness(record)), -1);
  return nearness(countedTogether(records), limitOf(master));
}

/** `perhaps-close`: the upper bound is close to the limit, the lower bound is not. */
export type Fit = 'above' | 'close' | 'perhaps-close' | 'fits' | 'far-below' | 'no-limit' | 'unknown';

export { CLOSE_TO_LIMIT };

/** The largest lower bound of the peaks that the record's request limits, in bytes; null: nothing was measured. */
export function heldOf(record: JobRecord): number | null {
  return largestOfKnown(
    decisive(record).map((quantity) => {
      const bracket = record[quantity];
      return bracket === null ? null : figureOf(bracket);
    }),
  );
}

/** How what a record needed compares with its limit. */
export function fitOf(record: JobRecord): Fit {
  const need = needOf(record);
  const limit = limitOf(record);
  if (need === null) return 'unknown';
  const share = shareOf(need.bytes, limit);
  if (share === null || limit === null) return 'no-limit';
  const held = (heldOf(record) ?? 0) / limit;
  if (held > 1) return 'above';
  if (held >= CLOSE_TO_LIMIT) return 'close';
  if (share >= CLOSE_TO_LIMIT) return 'perhaps-close';
  return share < FAR_BELOW_LIMIT ? 'far-below' : 'fits';
}

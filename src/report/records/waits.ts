import { GIB } from '../../base/units';
import { FirstStarts, type Wait } from '../../accounting/first-starts';
import { groupBy } from '../../base/group-by';
import type { FieldName } from '../../record/fields';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { formatCount, formatDuration, formatRequested } from '../format/units';
import type { Column } from '../screen/table';

/** Jobs of one queue that requested about as much. */
interface WaitOfSize {
  /** The limit on one host: above `from_bytes`, up to `to_bytes` (null: no upper end). */
  readonly from_bytes: number;
  readonly to_bytes: number | null;
  /** Distinct jobs and array tasks. */
  readonly jobs: number;
  /** From submission to the first start. */
  readonly median_seconds: number;
}

/** How long the jobs of a queue waited, by what they requested. */
export interface QueueWaits {
  readonly queue: string;
  readonly sizes: readonly WaitOfSize[];
}

/** The fields that waits are computed from. */
export const WAIT_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'submitted_at', 'started_at', 'queue'] as const),
  ...(['h_vmem', 'requests', 'request_order'] as const),
];

const ENDS = [4 * GIB, 16 * GIB, 64 * GIB, 256 * GIB, null] as const;
/** The median of fewer jobs says nothing. */
const LEAST_JOBS = 5;
const MOST_QUEUES = 5;

function medianOf(values: readonly number[]): number {
  const sorted = Float64Array.from(values).sort();
  return sorted[(sorted.length - 1) >> 1] ?? 0;
}

function sizesOf(waits: readonly Wait[]): readonly WaitOfSize[] {
  return ENDS.flatMap((to_bytes, index) => {
    const from_bytes = ENDS[index - 1] ?? 0;
    const alike = waits.filter(({ limit }) => limit > from_bytes && limit <= (to_bytes ?? Infinity));
    if (alike.length < LEAST_JOBS) return [];
    const median_seconds = medianOf(alike.map(({ seconds }) => seconds));
    return [{ from_bytes, to_bytes, jobs: alike.length, median_seconds }];
  });
}

/** How long the jobs and tasks of records waited for their first start. */
export function firstWaits(records: readonly JobRecord[]): readonly Wait[] {
  const firsts = new FirstStarts();
  for (const record of records) {
    const { cluster, job_id, task_id, submitted_at: submitted, started_at: started, queue } = record;
    if (record.pe_task_id !== null || submitted === null || started === null) continue;
    firsts.add({
      job: { cluster, job_id, submitted_at: Date.parse(submitted) },
      task_id,
      started_at: Date.parse(started),
      queue,
      limit_bytes: limitOf(record),
    });
  }
  return firsts.waits;
}

/** The queues with most jobs, where these requested memory of at least two sizes; a job counts with its first start. */
export function waitsOf(waits: readonly Wait[]): readonly QueueWaits[] {
  return [...groupBy(waits, ({ queue }) => queue)]
    .sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
    .map(([queue, ofQueue]) => ({ queue, sizes: sizesOf(ofQueue) }))
    .filter(({ sizes }) => sizes.length > 1)
    .slice(0, MOST_QUEUES);
}

/** "to 4 GiB", "4 GiB to 16 GiB", "above 256 GiB". */
function sizeText({ from_bytes: from, to_bytes: to }: Pick<WaitOfSize, 'from_bytes' | 'to_bytes'>): string {
  if (to === null) return `above ${formatRequested(from)}`;
  return from === 0 ? `to ${formatRequested(to)}` : `${formatRequested(from)} to ${formatRequested(to)}`;
}

/** A table of waits: a line for each queue and size. */
export function waitTable<Name>(
  waits: readonly QueueWaits[],
  nameOf: (queue: string) => Name,
): { readonly columns: readonly Column[]; readonly rows: readonly (readonly (Name | string)[])[] } {
  const columns: readonly Column[] = [
    { head: 'queue', shrinksTo: 8 },
    { head: 'requested', align: 'right' },
    { head: 'jobs', align: 'right' },
    { head: 'median wait', align: 'right' },
  ];
  const rows = waits.flatMap(({ queue, sizes }) =>
    sizes.map((size, index) => [
      index === 0 ? nameOf(queue) : '',
      sizeText(size),
      formatCount(size.jobs),
      formatDuration(size.median_seconds),
    ]),
  );
  return { columns, rows };
}

export const WAITS_TITLE = 'Wait by requested memory';
export const WAITS_TEXT = 'From submission to the first start, holds and dependencies included.';

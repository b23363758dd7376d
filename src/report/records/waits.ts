import type { JobStart } from '../../accounting/job-line';
import { groupBy } from '../../base/group-by';
import type { FieldName } from '../../record/fields';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { formatCount, formatDuration, formatRequested } from '../format/units';
import type { Column } from '../screen/table';

/** Jobs of one queue that requested about as much. */
interface WaitOfSize {
  /** Above `from_bytes`, up to `to_bytes` (null: without end) on one host. */
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

/** What waits are made of. */
export const WAIT_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'submitted_at', 'started_at', 'queue'] as const),
  ...(['h_vmem', 'requests', 'request_order'] as const),
];

const GIB = 1024 ** 3;
const ENDS = [4 * GIB, 16 * GIB, 64 * GIB, 256 * GIB, null] as const;
/** Fewer say nothing. */
const LEAST_JOBS = 5;
const MOST_QUEUES = 5;

interface Wait {
  readonly queue: string;
  readonly limit: number;
  readonly seconds: number;
}

function startOf(record: JobRecord): JobStart | null {
  const { cluster, job_id, task_id, pe_task_id: peTask, submitted_at: submitted, started_at: started, queue } = record;
  if (peTask !== null || submitted === null || started === null) return null;
  const times = { submitted_at: Date.parse(submitted), started_at: Date.parse(started) };
  return { cluster, job_id, task_id, ...times, queue, limit_bytes: limitOf(record) };
}

function waitOf({ submitted_at: submitted, started_at: started, queue: name, limit_bytes: limit }: JobStart): Wait | null {
  if (limit === null || limit <= 0) return null;
  const queue = name?.split('@', 1)[0] ?? '';
  const seconds = (started - submitted) / 1000;
  return queue === '' || !(seconds >= 0) ? null : { queue, limit, seconds };
}

function medianOf(values: readonly number[]): number {
  const sorted = values.toSorted((a, b) => a - b);
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

/** The waits of jobs and tasks to their first start. */
class FirstStarts {
  private readonly jobs = new Map<string, Map<number | null, Wait>>();
  /** The job of the start before, and its tasks: mostly the next one is of the same. */
  private job: readonly (string | number)[] = [];
  private tasks = new Map<number | null, Wait>();

  add(start: JobStart): void {
    const wait = waitOf(start);
    if (wait === null) return;
    const { cluster, job_id: number, submitted_at: submitted, task_id: task } = start;
    if (this.job[0] !== number || this.job[1] !== submitted || this.job[2] !== cluster) {
      this.job = [number, submitted, cluster];
      const key = this.job.join(' ');
      this.tasks = this.jobs.get(key) ?? new Map<number | null, Wait>();
      this.jobs.set(key, this.tasks);
    }
    if (wait.seconds < (this.tasks.get(task)?.seconds ?? Infinity)) this.tasks.set(task, wait);
  }

  get all(): readonly Wait[] {
    return [...this.jobs.values()].flatMap((tasks) => [...tasks.values()]);
  }
}

/** When the jobs and tasks of records were submitted and started, as far as both are known. */
export const startsOf = (records: readonly JobRecord[]): readonly JobStart[] =>
  records.flatMap((record) => startOf(record) ?? []);

/** The queues with most jobs, where these requested memory of at least two sizes; a job counts with its first start. */
export function waitsOf(starts: readonly JobStart[]): readonly QueueWaits[] {
  const firsts = new FirstStarts();
  for (const start of starts) firsts.add(start);
  return [...groupBy(firsts.all, ({ queue }) => queue)]
    .sort(([a, some], [b, others]) => others.length - some.length || (a < b ? -1 : 1))
    .map(([queue, waits]) => ({ queue, sizes: sizesOf(waits) }))
    .filter(({ sizes }) => sizes.length > 1)
    .slice(0, MOST_QUEUES);
}

/** "to 4 GiB", "4 GiB to 16 GiB", "above 256 GiB". */
function sizeText({ from_bytes: from, to_bytes: to }: Pick<WaitOfSize, 'from_bytes' | 'to_bytes'>): string {
  if (to === null) return `above ${formatRequested(from)}`;
  return from === 0 ? `to ${formatRequested(to)}` : `${formatRequested(from)} to ${formatRequested(to)}`;
}

/** A table of waits: a line for each queue and size. */
export function waitTable(
  waits: readonly QueueWaits[],
  safe: (text: string) => string,
): { readonly columns: readonly Column[]; readonly rows: readonly (readonly string[])[] } {
  const columns: readonly Column[] = [
    { head: 'queue', shrinksTo: 8 },
    { head: 'requested', align: 'right' },
    { head: 'jobs', align: 'right' },
    { head: 'median wait', align: 'right' },
  ];
  const rows = waits.flatMap(({ queue, sizes }) =>
    sizes.map((size, index) => [
      index === 0 ? safe(queue) : '',
      sizeText(size),
      formatCount(size.jobs),
      formatDuration(size.median_seconds),
    ]),
  );
  return { columns, rows };
}

export const WAITS_TITLE = 'Wait by requested memory';
export const WAITS_TEXT = 'From submission to the first start, holds and dependencies included.';

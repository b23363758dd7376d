import { expandTasks, type TaskSet } from '../gridengine/qstat/expand-tasks';
import type { RecordKey } from '../record/record';
import type { Snapshot } from './snapshot';

/** The tasks of an array job that Grid Engine lists, which are those that have not ended. */
export interface ListedTasks {
  /** When the older of the two lists was asked for; ms since the epoch. */
  readonly at: number;
  readonly running: ReadonlySet<number>;
  readonly waiting: TaskSet;
}

/**
 * The array job's tasks in the lists of running and waiting jobs; null: the lists are not known, or the job is in
 * neither, as it has ended or is not shown to the caller. `startedAt`: when one of its tasks began (ms since the
 * epoch); a job submitted after that is another job with the same number.
 */
export function listedTasks(
  { cluster, running, pending }: Snapshot,
  job: Pick<RecordKey, 'cluster' | 'job_id'>,
  startedAt: number | null,
): ListedTasks | null {
  if (cluster !== job.cluster || pending === null || running.at === null || pending.at === null) return null;
  if (running.problem !== null || pending.problem !== null) return null;
  const rows = { running: running.value, pending: pending.value };
  const textOf = (list: keyof typeof rows): string =>
    rows[list]
      .filter(({ job: number, submittedAt }) => number === job.job_id && (submittedAt ?? 0) <= (startedAt ?? Infinity))
      .map(({ tasks }) => tasks ?? '')
      .join(',');
  const found = { running: expandTasks(textOf('running')), waiting: expandTasks(textOf('pending')) };
  if (found.running.count + found.waiting.count === 0) return null;
  const at = Math.min(running.at, pending.at);
  const numbers = new Set(found.running.numbers);
  const inBoth = [...found.waiting.numbers].filter((task) => numbers.has(task));
  if (inBoth.length === 0) return { at, running: numbers, waiting: found.waiting };
  // A task that started, or was rescheduled, between the two lists: the newer one is right.
  if (running.at < pending.at) return { at, running: without(numbers, inBoth), waiting: found.waiting };
  const waiting = without(found.waiting.numbers, inBoth);
  return { at, running: numbers, waiting: { count: found.waiting.count - inBoth.length, numbers: waiting } };
}

function without(tasks: Iterable<number>, some: readonly number[]): ReadonlySet<number> {
  const left = new Set(tasks);
  for (const task of some) left.delete(task);
  return left;
}

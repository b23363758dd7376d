import { endedBadly } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import { fullness } from '../advice/fit';

/** Which tasks of an array job are wanted. */
export interface TaskChoice {
  /** Those closest to their limit, so many. */
  readonly worst?: number | undefined;
  /** Those that ended badly. */
  readonly failed?: boolean | undefined;
  /** No more than these. */
  readonly limit?: number | undefined;
}

/**
 * The chosen ones of tasks, of which each is the records of its latest run: with `worst` the fullest first, none of which
 * nothing is known, else in their order.
 */
export function chooseTasks<Task extends readonly JobRecord[]>(
  tasks: readonly Task[],
  { worst, failed, limit = Infinity }: TaskChoice,
): readonly Task[] {
  const wanted = failed ? tasks.filter((records) => records.some(endedBadly)) : tasks;
  const most = Math.min(worst ?? Infinity, limit);
  if (worst === undefined) return wanted.slice(0, most);
  return wanted
    .map((task) => ({ task, full: task.reduce((full, record) => Math.max(full, fullness(record)), -1) }))
    .filter(({ full }) => full >= 0)
    .sort((a, b) => b.full - a.full)
    .slice(0, most)
    .map(({ task }) => task);
}

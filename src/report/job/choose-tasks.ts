import { groupBy } from '../../base/group-by';
import { endedBadly } from '../../record/job-end';
import { fullness } from '../advice/fit';
import { latestRuns, recordsOf, type JobRun } from './job-run';

/** Which tasks of an array job are wanted. */
export interface TaskChoice {
  /** Those closest to their limit, so many. */
  readonly worst?: number | undefined;
  /** Those that ended badly. */
  readonly failed?: boolean | undefined;
  /** No more than these. */
  readonly limit?: number | undefined;
}

/** The numbers of the chosen tasks: the fullest first with `worst`, else in their order. */
export function chooseTasks(
  runs: readonly JobRun[],
  { worst, failed, limit = Infinity }: TaskChoice,
): readonly (number | null)[] {
  const tasks = [...groupBy(runs, ({ record }) => record.task_id)].map(([task, ofTask]) => {
    const records = recordsOf(latestRuns(ofTask));
    const full = records.reduce((most, record) => Math.max(most, fullness(record)), -Infinity);
    return { task, full, bad: records.some(endedBadly) };
  });
  const wanted = failed ? tasks.filter(({ bad }) => bad) : tasks;
  const byNumber = wanted.sort((a, b) => (a.task ?? 0) - (b.task ?? 0));
  const ordered = worst === undefined ? byNumber : byNumber.sort((a, b) => b.full - a.full);
  return ordered.slice(0, Math.min(worst ?? Infinity, limit)).map(({ task }) => task);
}

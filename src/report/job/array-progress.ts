import { groupBy } from '../../base/group-by';
import type { ListedTasks } from '../../live/listed-tasks';
import { jobGroups, jobKey, latestRuns, type JobRun } from './job-run';
import type { Screen } from '../screen/screen';
import { formatCount } from '../format/units';

/** How many tasks of an array job have ended, run and wait. */
export interface ArrayProgress {
  readonly cluster: string;
  readonly job_id: number;
  readonly ended: number;
  readonly running: number;
  /** null: not known, or none as the job has ended. */
  readonly to_come: number | null;
}

/** Whether these are records of an array job's tasks. */
export const isArray = (runs: readonly JobRun[]): boolean => runs.some(({ record }) => record.task_id !== null);

/**
 * Of one array job with these records; `listed`: what Grid Engine says of it, null: unknown. A task's record and its
 * place in Grid Engine's lists were taken at different times: the newer one counts.
 */
function progressOf(ofJob: readonly JobRun[], { record: first }: JobRun, listed: ListedTasks | null): ArrayProgress {
  const tasks = groupBy(ofJob, ({ record }) => record.task_id);
  const waiting = new Set(listed?.waiting.numbers);
  const counts = { ended: 0, running: 0, to_come: listed?.waiting.count ?? null };
  for (const [task, runs] of tasks) {
    const latest = latestRuns(runs);
    const isNewer = listed === null || latest.some(({ record: { revision } }) => revision > listed.at);
    const waits = waiting.has(task ?? 0);
    if (waits && isNewer && counts.to_come !== null) counts.to_come -= 1;
    if (waits && !isNewer) continue;
    const runsAgain = !isNewer && listed.running.has(task ?? 0);
    if (runsAgain || latest.some(({ record: { status } }) => status === 'running')) counts.running += 1;
    else counts.ended += 1;
  }
  for (const task of listed?.running ?? []) if (!tasks.has(task)) counts.running += 1;
  const { cluster, job_id } = first;
  return { cluster, job_id, ...counts };
}

/** How far each array job among `runs` is, by jobKey; `listedOf`: what Grid Engine says of its tasks, null: unknown. */
export function arraysAmong(
  runs: readonly JobRun[],
  listedOf: (runs: readonly JobRun[]) => ListedTasks | null,
): ReadonlyMap<string, ArrayProgress> {
  return new Map(
    jobGroups(runs).flatMap((ofJob) => {
      const [first] = ofJob;
      if (!isArray(ofJob)) return [];
      return [[jobKey(first), progressOf(ofJob, first, listedOf(ofJob))] as const];
    }),
  );
}

/** "12 of 100 tasks have ended, 3 run, 85 to come"; nothing where that is not known. */
export function renderProgress(progress: ArrayProgress | undefined, { style }: Screen): string[] {
  const { ended = 0, running = 0, to_come = null } = progress ?? {};
  if (to_come === null) return [];
  const all = formatCount(ended + running + to_come);
  const have = ended === 1 ? 'has' : 'have';
  const run = running === 1 ? 'runs' : 'run';
  const words = `${formatCount(ended)} of ${all} tasks ${have} ended, ${formatCount(running)} ${run}, ${formatCount(to_come)} to come`;
  return ['', `  ${style.title(words)}`];
}

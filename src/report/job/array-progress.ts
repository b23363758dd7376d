import { groupBy } from '../../base/group-by';
import type { ListedTasks } from '../../live/listed-tasks';
import type { JobRecord } from '../../record/record';
import { jobGroups, jobKey, latestRuns, recordsOf, type JobRun } from './job-run';
import type { Screen } from '../screen/screen';
import { formatCount } from '../format/units';

/** How many tasks of an array job have ended, run and wait. */
export interface ArrayProgress {
  readonly cluster: string;
  readonly job_id: number;
  readonly ended: number;
  readonly running: number;
  /** null: unknown, also when the job has ended and Grid Engine no longer lists it. */
  readonly to_come: number | null;
}

/** Whether these are records of an array job's tasks. */
export const isArray = (runs: readonly JobRun[]): boolean => runs.some(({ record }) => record.task_id !== null);

type TaskState = Pick<JobRecord, 'status' | 'revision'>;

/**
 * Counts the tasks of one array job by the records of their latest runs (`tasks`) and by Grid Engine's lists (`listed`;
 * null: unknown). The two were taken at different times: for each task the newer one counts.
 */
export function progressOf(
  { cluster, job_id }: Pick<JobRecord, 'cluster' | 'job_id'>,
  tasks: ReadonlyMap<JobRecord['task_id'], readonly TaskState[]>,
  listed: ListedTasks | null,
): ArrayProgress {
  const waiting = new Set(listed?.waiting.numbers);
  const counts = { ended: 0, running: 0, to_come: listed?.waiting.count ?? null };
  for (const [task, latest] of tasks) {
    const isNewer = listed === null || latest.some(({ revision }) => revision > listed.at);
    const waits = waiting.has(task ?? 0);
    if (waits && isNewer && counts.to_come !== null) counts.to_come -= 1;
    if (waits && !isNewer) continue;
    const runs = isNewer ? latest.some(({ status }) => status === 'running') : listed.running.has(task ?? 0);
    if (runs) counts.running += 1;
    else counts.ended += 1;
  }
  for (const task of listed?.running ?? []) if (!tasks.has(task)) counts.running += 1;
  return { cluster, job_id, ...counts };
}

/** Progress of each array job among `runs`, by jobKey; `listedOf`: its tasks in Grid Engine's lists, null: unknown. */
export function arraysAmong(
  runs: readonly JobRun[],
  listedOf: (runs: readonly JobRun[]) => ListedTasks | null,
): ReadonlyMap<string, ArrayProgress> {
  return new Map(
    jobGroups(runs).flatMap((ofJob) => {
      const [first] = ofJob;
      if (!isArray(ofJob)) return [];
      const runsOf = [...groupBy(ofJob, ({ record }) => record.task_id)];
      const tasks = new Map(runsOf.map(([task, ofTask]) => [task, recordsOf(latestRuns(ofTask))]));
      return [[jobKey(first), progressOf(first.record, tasks, listedOf(ofJob))] as const];
    }),
  );
}

/** "12 of 100 tasks have ended, 3 run, 85 to come"; no lines where these numbers are unknown. */
export function renderProgress(progress: ArrayProgress | undefined, { style }: Screen): string[] {
  const { ended = 0, running = 0, to_come = null } = progress ?? {};
  if (to_come === null) return [];
  const all = formatCount(ended + running + to_come);
  const have = ended === 1 ? 'has' : 'have';
  const run = running === 1 ? 'runs' : 'run';
  const words = `${formatCount(ended)} of ${all} tasks ${have} ended, ${formatCount(running)} ${run}, ${formatCount(to_come)} to come`;
  return ['', `  ${style.title(words)}`];
}

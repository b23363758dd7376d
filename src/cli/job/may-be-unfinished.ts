import type { TaskRows } from '../../accounting/tasks';
import { groupBy } from '../../base/group-by';
import type { JobOrTask, UnfinishedJob } from '../../live/unfinished-job';
import { endUnseen } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { JobReport } from '../../report/job/job';
import { latestRuns, recordsOf } from '../../report/job/job-run';
import type { LiveSources } from '../live/sources';
import { isRecent } from './array-tasks';

export interface AskedJobs {
  readonly jobs: readonly UnfinishedJob[];
  /** Why Grid Engine could not be asked, in one line; null: it answered, or was not asked. */
  readonly problem: string | null;
}

export const NOBODY_ASKED: AskedJobs = { jobs: [], problem: null };

/**
 * Exit statuses of runs that another may follow. By 99 a job asks to be run again, by 100 to be put into the error state
 * (sge_diagnostics(1)); Grid Engine kills a run to reschedule the job (137); a run that failed to start has none.
 */
const MAY_RUN_AGAIN: ReadonlySet<number | null> = new Set([99, 100, 137, null]);

/** Whether another run was to follow: the job was rescheduled or migrated, or asked for that (99). */
export const wasToRunAgain = ({ failed, exit_status: status }: Pick<JobRecord, 'exit_status' | 'failed'>): boolean =>
  failed === null ? status === 99 : failed === 24 || failed === 25;

const mayRunAgain = (record: Pick<JobRecord, 'status' | 'exit_status' | 'failed'>): boolean =>
  record.status !== 'running' &&
  (endUnseen(record) || MAY_RUN_AGAIN.has(record.exit_status) || (record.failed ?? 0) !== 0);

/** Whether Grid Engine may still list the job: there is no record, or another run may follow the last. */
function mayBeUnfinished({ cluster, newer, runs }: JobReport, now: Date): boolean {
  if (cluster !== undefined || newer > 0) return false;
  const tasks = [...groupBy(runs, ({ record }) => record.task_id).values()];
  return (
    tasks.length === 0 ||
    mayContinue(
      tasks.flatMap((ofTask) => recordsOf(latestRuns(ofTask))),
      now,
    )
  );
}

/** Whether another run may follow one of a job's latest runs. */
function mayContinue(latest: readonly JobRecord[], now: Date): boolean {
  return latest.some((record) => mayRunAgain(record) && (wasToRunAgain(record) || isRecent(record, now.getTime())));
}

/** Whether any task of an array job may run again. */
export function mayRunOn(tasks: TaskRows): boolean {
  for (const record of tasks.records(['status', 'exit_status', 'failed'])) if (mayRunAgain(record)) return true;
  return false;
}

/** Asks Grid Engine about the jobs without a record, and about those that may be waiting again. */
export async function findUnfinished(
  reports: readonly JobReport[],
  settings: Settings,
  live: LiveSources,
  now: Date,
): Promise<AskedJobs> {
  const open = reports.filter((report) => mayBeUnfinished(report, now));
  const jobs = open.map(({ job_id: job, task_id: task = null }) => ({ job, task }));
  return jobs.length === 0 ? NOBODY_ASKED : askFor(jobs, settings, live, now);
}

export async function askFor(
  jobs: readonly JobOrTask[],
  settings: Settings,
  live: LiveSources,
  now: Date,
): Promise<AskedJobs> {
  const { askUnfinished } = await import('../job/unfinished.js');
  return askUnfinished(jobs, settings, live, now);
}

import { COMES_ROUND_MS } from '../../accounting/attempts';
import type { AccountingReader } from '../../accounting/store';
import type { TaskRows } from '../../accounting/tasks';
import { groupBy } from '../../base/group-by';
import type { JobOrTask, UnfinishedJob } from '../../live/unfinished-job';
import { endUnseen } from '../../record/job-end';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { JobReport } from '../../report/job/job';
import { latestRuns, recordsOf } from '../../report/job/job-run';
import type { LiveSources } from '../live/sources';
import { findDistinct } from '../records/find';
import { isRecent } from './array-tasks';

export interface AskedJobs {
  readonly jobs: readonly UnfinishedJob[];
  /** Why Grid Engine could not be asked, in one line; null: it answered, or was not asked. */
  readonly problem: string | null;
  /** When the older of Grid Engine's lists was made (ms since the epoch); null: not known, or it was not asked. */
  readonly listedAt: number | null;
}

export const NOBODY_ASKED: AskedJobs = { jobs: [], problem: null, listedAt: null };

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

/** Tests whether Grid Engine's job numbers have begun again since a job: another that waits may have its number now. */
async function cameRoundTest(
  reports: readonly JobReport[],
  readers: readonly AccountingReader[],
  now: Date,
): Promise<(report: JobReport) => boolean> {
  const since = now.getTime() - COMES_ROUND_MS;
  const isOld = ({ record }: JobReport['runs'][number]): boolean =>
    (Date.parse(record.ended_at ?? record.started_at ?? '') || record.revision) < since;
  const isLongOver = ({ runs, cluster }: JobReport): boolean =>
    cluster === undefined && runs.length > 0 && runs.every(isOld);
  const cluster = reports.find(isLongOver)?.runs[0]?.record.cluster;
  if (cluster === undefined) return () => false;
  const query = { cluster, since, until: now.getTime() + 1, limit: 1, totals: false } as const;
  const [newest] = await findDistinct(query, readers);
  return (report) => isLongOver(report) && report.job_id > (newest?.record.job_id ?? Infinity);
}

/** Whether the run of a job, or of one task, ended for good after the list that shows it was made. */
function endedSince(report: JobReport | undefined, listedAt: number): boolean {
  const latest = recordsOf(latestRuns(report?.runs ?? []));
  if (report?.task_id == null && latest.some(({ task_id }) => task_id !== null)) return false;
  return latest.some((record) => !wasToRunAgain(record) && Date.parse(record.ended_at ?? '') >= listedAt);
}

/** Asks Grid Engine about the jobs without a record, and about those that may be waiting again. */
export async function findUnfinished(
  reports: readonly JobReport[],
  settings: Settings,
  live: LiveSources,
  readers: readonly AccountingReader[],
  now: Date,
): Promise<AskedJobs> {
  const cameRound = await cameRoundTest(reports, readers, now);
  const open = reports.filter((report) => mayBeUnfinished(report, now) || cameRound(report));
  const jobs = open.map(({ job_id: job, task_id: task = null }) => ({ job, task }));
  if (jobs.length === 0) return NOBODY_ASKED;
  const asked = await askFor(jobs, settings, live, now);
  const reportOf = ({ job, task }: JobOrTask): JobReport | undefined =>
    open.find(({ job_id, task_id = null }) => job_id === job && task_id === task);
  return { ...asked, jobs: asked.jobs.filter((one) => !endedSince(reportOf(one), asked.listedAt ?? Infinity)) };
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

import type { Snapshot } from '../../live/snapshot';
import { listedRows } from '../../live/unfinished-job';
import { privateWorld } from '../../record/job-name';
import type { Settings } from '../../record/settings';
import { parseTime } from '../../report/format/local-time';
import { isArray } from '../../report/job/array-progress';
import type { JobReport } from '../../report/job/job';
import { latestRuns, type JobRun } from '../../report/job/job-run';
import type { LiveSources } from '../live/sources';
import { beginLists, isRecent } from './array-tasks';

/** Whether it is one job or task that runs, as far as its records say: Grid Engine may have suspended it. */
function isRunning({ runs, newer, task_id: task }: JobReport, now: number): boolean {
  if (newer > 0 || (task === undefined && isArray(runs))) return false;
  return latestRuns(runs).some(
    ({ record }) => record.status === 'running' && isRecent(record, now) && privateWorld(record.cluster) === null,
  );
}

/** The run with the letters of its state in qmaster's list; a job submitted after its start is another one. */
function withState(run: JobRun, snapshot: Snapshot): JobRun {
  const { cluster, job_id: job, task_id: task, started_at: started } = run.record;
  const start = parseTime(started)?.getTime() ?? Infinity;
  const rows = listedRows(snapshot, { job, task }).filter(({ submittedAt }) => (submittedAt ?? 0) <= start);
  return cluster === snapshot.cluster ? { ...run, state: rows.map(({ state }) => state).join('') } : run;
}

/**
 * The same reports, with Grid Engine's states of the jobs and tasks that run. Asks Grid Engine only if one runs; `live`
 * null: does not ask. Never rejects.
 */
export async function withStates(
  reports: readonly JobReport[],
  settings: Settings,
  live: LiveSources | null,
  now: Date,
): Promise<readonly JobReport[]> {
  const running = new Set(reports.filter((report) => isRunning(report, now.getTime())));
  const snapshot = running.size === 0 || live === null ? null : await beginLists(settings, live, false).wait();
  if (snapshot === null) return reports;
  return reports.map((report) =>
    running.has(report) ? { ...report, runs: report.runs.map((run) => withState(run, snapshot)) } : report,
  );
}

import { listedTasks, type ListedTasks } from '../../live/listed-tasks';
import type { Snapshot } from '../../live/snapshot';
import { arraysAmong, isArray, type ArrayProgress } from '../../report/job/array-progress';
import type { JobReport } from '../../report/job/job';
import { jobGroups, recordsOf, type JobRun } from '../../report/job/job-run';
import { parseTime } from '../../report/format/local-time';
import { privateWorld } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { LiveSources } from '../live/sources';

/** A command about jobs waits no longer than this for what Grid Engine says of tasks to come. */
const PATIENCE_MS = 2000;

/** An array job without a heartbeat for longer than a weekend is not asked for. */
const RECENT_MS = 3 * 86_400_000;

const lastKnown = ({ status, revision, ended_at: ended, started_at: started }: JobRecord): number =>
  status === 'running' ? revision : (parseTime(ended ?? started)?.getTime() ?? 0);

/** Whether a job had a heartbeat lately. */
export const isRecent = (record: JobRecord, now: number): boolean => now - lastKnown(record) <= RECENT_MS;

const latest = (times: readonly number[]): number => times.reduce((a, b) => Math.max(a, b), 0);

/** The first run of each array job that may have tasks to come: of the newest job of the number, with a heartbeat lately. */
function unfinished({ runs, newer, task_id: task }: JobReport, now: number): readonly JobRun[] {
  if (newer > 0 || task !== undefined) return [];
  const newest = new Map<string, readonly JobRun[]>();
  for (const ofJob of jobGroups(runs)) {
    const [{ incarnation, record }] = ofJob;
    if (incarnation >= (newest.get(record.cluster)?.[0]?.incarnation ?? 0)) newest.set(record.cluster, ofJob);
  }
  return [...newest].flatMap(([cluster, ofJob]) => {
    const recent = ofJob.some(({ record }) => isRecent(record, now));
    return privateWorld(cluster) === null && isArray(ofJob) && recent ? ofJob.slice(0, 1) : [];
  });
}

/** What qmaster lists, or null where it can't be had in time. Never rejects. */
export async function askLists(settings: Settings, live: LiveSources): Promise<Snapshot | null> {
  try {
    const signal = AbortSignal.timeout(PATIENCE_MS);
    return (await live.snapshot(settings, { pending: true, queries: ['running', 'pending'], signal })).snapshot;
  } catch {
    // The records stand without it.
    return null;
  }
}

/** What lists have of the array job with these records; null: nothing. */
function listedOf(snapshot: Snapshot, records: readonly JobRecord[]): ListedTasks | null {
  const [first] = records;
  const started = latest(records.map(({ started_at: at }) => parseTime(at)?.getTime() ?? 0));
  return first === undefined ? null : listedTasks(snapshot, first, started === 0 ? null : started);
}

/** How far one array job is, by the latest run of each task; null: Grid Engine does not list it, or can't be asked. */
export async function progressOfTasks(
  cluster: string,
  records: readonly JobRecord[],
  settings: Settings,
  live: LiveSources,
  now: Date,
): Promise<ArrayProgress | null> {
  if (privateWorld(cluster) !== null || !records.some((record) => isRecent(record, now.getTime()))) return null;
  const snapshot = await askLists(settings, live);
  const listed = snapshot && listedOf(snapshot, records);
  if (listed === null) return null;
  const runs = records.map((record) => ({ record, attempt: 1, incarnation: 1 }));
  return [...arraysAmong(runs, () => listed).values()][0] ?? null;
}

/**
 * The same reports, with how far their array jobs are. Grid Engine is asked where one of them may have tasks to come;
 * `live` null: it is not to be asked. Never rejects.
 */
export async function withArrays(
  reports: readonly JobReport[],
  settings: Settings,
  live: LiveSources | null,
  now: Date,
): Promise<readonly JobReport[]> {
  const open = new Set(reports.flatMap((report) => unfinished(report, now.getTime())));
  const snapshot = open.size === 0 || live === null ? null : await askLists(settings, live);
  const arraysOf = ({ runs: all }: JobReport): ReadonlyMap<string, ArrayProgress> =>
    arraysAmong(all, (runs) => {
      const isOpen = runs.slice(0, 1).some((first) => open.has(first));
      return snapshot === null || !isOpen ? null : listedOf(snapshot, recordsOf(runs));
    });
  return reports.map((report) => (report.task_id === undefined ? { ...report, arrays: arraysOf(report) } : report));
}

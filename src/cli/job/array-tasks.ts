import { DAY_MS } from '../../base/units';
import type { TaskRows } from '../../accounting/tasks';
import { listedTasks, type ListedTasks } from '../../live/listed-tasks';
import type { Snapshot } from '../../live/snapshot';
import { arraysAmong, isArray, progressOf, type ArrayProgress } from '../../report/job/array-progress';
import type { JobReport } from '../../report/job/job';
import { jobGroups, recordsOf, type JobRun } from '../../report/job/job-run';
import { parseTime } from '../../report/format/local-time';
import { privateWorld } from '../../record/job-name';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { LiveSources } from '../live/sources';

/** How long a command about jobs waits for Grid Engine's list of tasks to come. */
const PATIENCE_MS = 5000;

/** Grid Engine is not asked about an array job without a heartbeat for longer than a weekend. */
const RECENT_MS = 3 * DAY_MS;

const RECENT_FIELDS = ['status', 'revision', 'ended_at', 'started_at'] as const;
type RecentFields = Pick<JobRecord, (typeof RECENT_FIELDS)[number]>;

const lastKnown = ({ status, revision, ended_at: ended, started_at: started }: RecentFields): number =>
  status === 'running' ? revision : (parseTime(ended ?? started)?.getTime() ?? 0);

/** Whether a run had a heartbeat, or ended, within RECENT_MS. */
export const isRecent = (record: RecentFields, now: number): boolean => now - lastKnown(record) <= RECENT_MS;

/** null: not known. */
function latestStart(records: readonly Pick<JobRecord, 'started_at'>[]): number | null {
  const latest = records.reduce((time, { started_at: at }) => Math.max(time, parseTime(at)?.getTime() ?? 0), 0);
  return latest === 0 ? null : latest;
}

/** Whether `isRecent` holds for any task of an array. */
export function hasRecent(tasks: TaskRows, now: Date): boolean {
  for (const record of tasks.records(RECENT_FIELDS)) if (isRecent(record, now.getTime())) return true;
  return false;
}

/** The first run of each array job that may have tasks to come: the newest job of its number, with a recent run. */
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

/** A question to qmaster for its job lists, answered while this process works on. */
interface AskedLists {
  /** Resolves when qmaster is being asked, or when the answer is there already. */
  readonly begun: Promise<void>;
  /** Resolves to the lists; null: they did not come in time. Never rejects. */
  readonly wait: () => Promise<Snapshot | null>;
}

/** `pending`: also for the list of waiting jobs, which can be long. */
export function beginLists(settings: Settings, live: LiveSources, pending = true): AskedLists {
  const patience = new AbortController();
  const { signal } = patience;
  let onAsking: () => void = () => undefined;
  const asking = new Promise<void>((resolve) => (onAsking = resolve));
  const queries = pending ? (['running', 'pending'] as const) : (['running'] as const);
  const asked = live.snapshot(settings, { pending, queries, signal, onAsking }).then(
    ({ snapshot }) => snapshot,
    // Records can be shown without the lists.
    () => null,
  );
  return {
    begun: Promise.race([asking, asked.then(() => undefined)]),
    wait: async () => {
      // The timeout counts from here: the answer may have come while this process worked.
      const timer = setTimeout(() => patience.abort(), PATIENCE_MS);
      try {
        return await asked;
      } finally {
        clearTimeout(timer);
      }
    },
  };
}

/** qmaster's job lists; null: they did not come in time. Never rejects. */
export const askLists = (settings: Settings, live: LiveSources): Promise<Snapshot | null> =>
  beginLists(settings, live).wait();

/** What the lists say about the array job with these records; null: nothing. */
function listedOf(snapshot: Snapshot, records: readonly JobRecord[]): ListedTasks | null {
  const [first] = records;
  return first === undefined ? null : listedTasks(snapshot, first, latestStart(records));
}

/** The progress of the array job with these tasks; null: qmaster does not list it. */
export function progressOfTasks(
  { job_id, tasks }: { readonly job_id: number; readonly tasks: TaskRows },
  snapshot: Snapshot,
): ArrayProgress | null {
  const job = { cluster: tasks.cluster ?? '', job_id };
  if (listedTasks(snapshot, job, null) === null) return null;
  const states = [...tasks.records(['task_id', 'status', 'revision', 'started_at'])];
  const listed = listedTasks(snapshot, job, latestStart(states));
  if (listed === null) return null;
  return progressOf(job, new Map(states.map((state) => [state.task_id, [state]])), listed);
}

/**
 * The same reports, with the progress of their array jobs. Asks Grid Engine only if one of them may have tasks to come;
 * `live` null: does not ask. Never rejects.
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

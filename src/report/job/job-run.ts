import type { JobAttempt } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import type { Dialect } from '../../gridengine/dialect';
import type { JobRecord } from '../../record/record';
import type { Prediction } from '../advice/class-advice';
import type { Classes } from '../rules/judge';
import type { TaskChoice } from './choose-tasks';

/** One run of a job (task, pe task) on one host, and which of its runs it is. */
export interface JobRun extends Pick<JobAttempt, 'record' | 'attempt' | 'incarnation'> {
  /** The memory that past runs of its kind predict to be enough; left out: nothing is known of them. */
  readonly prediction?: Prediction;
  /** The classes of this run by the site's rules; left out: it was not judged. */
  readonly classes?: Classes;
  /** The letters of its state in Grid Engine's list; left out: the list was not asked for, or does not have it. */
  readonly state?: string;
}

/** The only run of a job, from its record. */
export const asRun = (record: JobRecord): JobRun => ({ record, attempt: 1, incarnation: 1 });

/** The prediction for the first of these runs; null: none. */
export const predictionOf = (runs: readonly JobRun[]): Prediction | null => runs[0]?.prediction ?? null;

/** A key that all runs of one job share: its cluster, and which of the jobs that had its number there it is. */
export const jobKey = ({ record, incarnation }: JobRun): string => `${incarnation} ${record.cluster}`;

export const isSameJob = (a: JobRun, b: JobRun): boolean =>
  a.record.job_id === b.record.job_id && a.incarnation === b.incarnation && a.record.cluster === b.record.cluster;

/** The runs of each job; jobs in the order of their first runs. */
export function jobGroups<Run extends JobRun>(runs: readonly Run[]): readonly (readonly [Run, ...Run[]])[] {
  const groups = new Map<string, [Run, ...Run[]]>();
  let group: [Run, ...Run[]] | undefined;
  for (const run of runs) {
    // The next task is mostly of the same job: with thousands of tasks, making a key for each would take longer than
    // all else.
    if (group !== undefined && isSameJob(group[0], run)) {
      group.push(run);
      continue;
    }
    const key = `${run.record.job_id} ${jobKey(run)}`;
    group = groups.get(key);
    if (group === undefined) groups.set(key, (group = [run]));
    else group.push(run);
  }
  return [...groups.values()];
}

/** All records of each run of a job (array task), job by job; runs in the order of their first records. */
export function runGroups<Run extends JobRun>(runs: readonly Run[]): readonly (readonly Run[])[] {
  const keyOf = ({ record: { task_id: task }, attempt }: Run): number | string =>
    attempt === 1 ? (task ?? 0) : `${task ?? 0} ${attempt}`;
  return jobGroups(runs).flatMap((ofJob) => [...groupBy(ofJob, keyOf).values()]);
}

/** The runs of jobs (array tasks) that have several: their parts on other hosts, or a run after another. */
export function runsOfSeveral<Run extends JobRun>(runs: readonly Run[]): readonly Run[] {
  return jobGroups(runs).flatMap((ofJob) =>
    [...groupBy(ofJob, ({ record }) => record.task_id).values()].filter(({ length }) => length > 1).flat(),
  );
}

/** All parts of the latest run of a job (array task), its master first. */
export function latestRuns<Run extends JobRun>(runs: readonly Run[]): readonly Run[] {
  if (runs.length === 1) return runs;
  const last = runs.reduce((most, { attempt }) => Math.max(most, attempt), 0);
  const latest = runs.filter(({ attempt }) => attempt === last);
  return latest.sort((a, b) => Number(a.record.pe_task_id !== null) - Number(b.record.pe_task_id !== null));
}

export function recordsOf(runs: readonly JobRun[]): readonly JobRecord[] {
  return runs.map(({ record }) => record);
}

/** How much of a job is shown. */
export interface JobViewOptions {
  /** `brief`: six lines; `full`: everything; left out: what fits on 24 lines. */
  readonly detail?: 'brief' | 'full' | undefined;
  /** Every task of an array job, and every task of a parallel one, as a line, however many there are. */
  readonly allTasks: boolean;
  /** The tasks of an array job to list; left out: all. */
  readonly tasks?: TaskChoice;
  /** Every host of a parallel job as a line. */
  readonly allHosts?: boolean;
  /** The dialect of Grid Engine that wrote the records; left out: unknown. */
  readonly dialect?: Dialect;
}

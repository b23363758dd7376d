import { arrangeAttempts } from '../../accounting/attempts';
import { jobClasses } from '../../advice/job-classes';
import type { PastRun } from '../../advice/replay';
import { groupBy } from '../../base/group-by';
import { categoryRequests, requestedSeconds } from '../../gridengine/category-requests';
import type { StoredRecord } from '../../record/merge';
import { nameClass } from '../../record/name-class';
import { programsOfRecord } from '../../record/programs';
import type { JobRecord } from '../../record/record';
import { limitOf } from '../../record/request';
import { ranWell } from '../../record/job-end';
import { hitUsableLimit } from '../job/ending';
import { jobKey, latestRuns, recordsOf, type JobRun } from '../job/job-run';
import { isRun, wholeOf, type RunRecords } from '../job/job-whole';
import type { Cause } from '../why/hypothesis';
import { whyEnded } from '../why/why';
import { hasUnknownPart, neededPerSlot, slotsOf } from './advice';
import { judgedByStoppingLimit, judgedBy, needOf } from './fit';

/** A run with the memory that it needed per slot. */
export interface MemoryRun extends PastRun {
  readonly records: RunRecords;
  /** The run was not sampled: only Grid Engine's own figure is known. */
  readonly countedOnly: boolean;
}

const seconds = (time: string): number => Date.parse(time) / 1000;

/** The records of each run, its master first. */
function endedRuns(stored: readonly StoredRecord[]): readonly RunRecords[] {
  const ended = stored.filter((one) => one.ended);
  return [...groupBy(ended, ({ record }) => record.job_id).values()].flatMap(runsOfNumber);
}

const runOf = (run: JobRun): string => `${run.record.task_id ?? ''} ${run.attempt} ${jobKey(run)}`;

function runsOfNumber(stored: readonly StoredRecord[]): readonly RunRecords[] {
  const [one, ...more] = stored;
  // Most jobs have one record: hundreds of them need not be arranged.
  if (one !== undefined && more.length === 0) return [[one.record]];
  const runs = groupBy(arrangeAttempts(stored, { all: true }).records, runOf);
  return [...runs.values()].map((attempts) => recordsOf(latestRuns(attempts))).filter(isRun);
}

const KIND = ['cluster', 'owner', 'job_name', 'slots', 'project', 'queue', 'pe'] as const;
type Kind = Pick<JobRecord, (typeof KIND)[number]>;

let latest: { readonly kind: Kind; readonly program: string; readonly classes: readonly string[] } | null = null;

/** The classes of a run. The last ones are kept, since runs of one kind mostly follow each other. */
function classesOf(job: JobRecord): readonly string[] {
  const { cluster, owner, slots, project, queue, pe } = job;
  const kind: Kind = { cluster, owner, job_name: nameClass(job.job_name ?? ''), slots, project, queue, pe };
  // One program is enough to find the run by, and keeps a history's list of classes short.
  const [program = ''] = programsOfRecord(job);
  const known = latest;
  if (known?.program === program && KIND.every((name) => known.kind[name] === kind[name])) return known.classes;
  const classes = jobClasses(kind, program === '' ? [] : [program]);
  latest = { kind, program, classes };
  return classes;
}

/**
 * What predictions of memory and of time both need; null: the master's record, or its submission or end, is unknown.
 */
function baseOf([job]: RunRecords): Pick<PastRun, 'submit' | 'end' | 'classes' | 'seconds'> | null {
  if (job.pe_task_id !== null || job.submitted_at === null || job.ended_at === null) return null;
  return {
    submit: seconds(job.submitted_at),
    end: seconds(job.ended_at),
    classes: classesOf(job),
    seconds: job.wallclock_seconds ?? 0,
  };
}

/**
 * The ended runs whose memory need per slot is known; of a parallel job the fullest host counts. A run that failed for
 * another reason than memory does not show what a full run needs. `complex`: the complex that the need is for; null:
 * that of each run.
 */
export function pastRuns(stored: readonly StoredRecord[], complex: string | null = null): readonly MemoryRun[] {
  return endedRuns(stored).flatMap((run) => memoryRun(run, complex) ?? []);
}

function memoryRun(run: RunRecords, complex: string | null): MemoryRun | null {
  const base = baseOf(run);
  if (base === null) return null;
  const needs = judgedByStoppingLimit(wholeOf(run).needs);
  let needed = 0;
  let limit: number | null = null;
  for (const record of needs) {
    needed = Math.max(needed, neededPerSlot(complex === null ? record : judgedBy(record, complex)));
    const allowed = limitOf(record) ?? 0;
    // A complex that holds 0 by default sets no limit.
    if (allowed > 0) limit = Math.max(limit ?? 0, allowed / slotsOf(record));
  }
  const wasStopped = limit !== null && needs.some(hitUsableLimit);
  const isWhole = needed > 0 && !hasUnknownPart(needs) && run.some((record) => ranWell(record) === true);
  if (!wasStopped && !isWhole) return null;
  // Written out: members added to a spread object take V8 longer, which counts for hundreds of runs.
  return {
    submit: base.submit,
    end: base.end,
    classes: base.classes,
    seconds: base.seconds,
    records: run,
    needed,
    stoppedAt: wasStopped ? limit : null,
    requested: limit,
    countedOnly: run.every((record) => needOf(record) === null),
  };
}

const OUT_OF_TIME: ReadonlySet<Cause> = new Set<Cause>(['h_rt', 's_rt']);

/** The ended runs that show how long a full run takes, in seconds. */
export function pastTimes(stored: readonly StoredRecord[]): readonly PastRun[] {
  return endedRuns(stored).flatMap((run) => timeRun(run) ?? []);
}

/** The requested h_rt in seconds, which a job that is killed exceeds a little. */
function requestedTime(run: RunRecords): number | null {
  const category = run.find((record) => record.grid_engine?.category != null)?.grid_engine?.category;
  return requestedSeconds(categoryRequests(category ?? ''), 'h_rt');
}

function timeRun(run: RunRecords): PastRun | null {
  const base = baseOf(run);
  if (base === null || base.seconds <= 0) return null;
  const wasStopped = whyEnded(run)?.causes.some((cause) => OUT_OF_TIME.has(cause)) ?? false;
  if (!wasStopped && !run.some((record) => ranWell(record) === true)) return null;
  const stoppedAt = wasStopped ? Math.min(base.seconds, requestedTime(run) ?? Infinity) : null;
  return { ...base, needed: base.seconds, stoppedAt, requested: null };
}

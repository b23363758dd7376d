import { DAY_MS } from '../base/units';
import { CLOCK_TOLERANCE_MS } from '../record/highest-sum';
import type { FieldName } from '../record/fields';
import type { JobRecord } from '../record/record';
import { groupBy } from '../base/group-by';
import type { StoredRecord } from '../record/merge';
import { compareText } from './by-place';
import type { JobAnswer, JobAttempt } from './store';

/** The fields by which attempts are arranged. */
export const ATTEMPT_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'trust', 'revision'] as const),
  ...(['owner', 'submitted_at', 'started_at', 'ended_at'] as const),
];

type Recorded = Pick<StoredRecord, 'record'>;

/** The spool directory and the accounting line give one submission times that are up to a second apart. */
export const SAME_SUBMISSION_MS = 2000;

/** A job whose host went down may take this long to run again; job numbers don't wrap so fast. */
const REQUEUED_WITHIN_MS = 3_600_000;

/** No job number is used again sooner: of two owners who claim it within this time, only one had it. */
export const COMES_ROUND_MS = 45 * DAY_MS;

function ms(time: string | null): number | null {
  return time === null ? null : Date.parse(time);
}

/** When the job was submitted; null for a slave task, whose submission is only the start of its own qrsh. */
function submitted(record: JobRecord): number | null {
  return record.pe_task_id === null ? ms(record.submitted_at) : null;
}

/** When a run began, else when it ended, else when it was recorded: attempts are in this order. */
function begun(record: JobRecord): number {
  return ms(record.started_at) ?? ms(record.ended_at) ?? record.revision;
}

/** The index of the last of ascending numbers that is at most `most`; -1: none is. */
function lastUpTo(numbers: readonly number[], most: number): number {
  let [low, high] = [0, numbers.length];
  while (low < high) {
    const middle = Math.floor((low + high) / 2);
    if ((numbers[middle] ?? Infinity) <= most) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/**
 * Tests whether a run of the job ended shortly before a time; takes times in ascending order. A submission then is no
 * new job: Grid Engine submits a job anew that is to run again, and a number is not reused for days.
 */
function requeuedTest(records: readonly Recorded[]): (time: number) => boolean {
  const runs = records
    .flatMap(({ record: { started_at, submitted_at, ended_at } }) => {
      // A run that failed before its start (a prolog that asks for another one) is over after its submission.
      const from = ms(started_at ?? submitted_at);
      return from === null ? [] : [{ from, to: ms(ended_at) ?? from }];
    })
    .sort((a, b) => a.from - b.from);
  let next = 0;
  let over = -Infinity;
  return (time) => {
    let run = runs[next];
    while (run !== undefined && run.from < time) {
      over = Math.max(over, run.to);
      next += 1;
      run = runs[next];
    }
    return time - over < REQUEUED_WITHIN_MS;
  };
}

/**
 * The jobs among records of one number in one cluster, oldest first: job numbers wrap, and jobs of one number differ in
 * when they were submitted. A record without that time belongs to the last job submitted before it began.
 */
function incarnations<Stored extends Recorded>(records: readonly Stored[]): readonly (readonly Stored[])[] {
  const submissions: number[] = [];
  const known = [...new Set(records.map(({ record }) => (record.pe_task_id === null ? record.submitted_at : null)))]
    .flatMap((time) => ms(time) ?? [])
    .sort((a, b) => a - b);
  if (known.length < 2) return [records];
  const isRequeued = requeuedTest(records);
  let before = -Infinity;
  for (const time of known) {
    if (time - before > SAME_SUBMISSION_MS && !isRequeued(time)) submissions.push(time);
    before = time;
  }
  if (submissions.length < 2) return [records];
  const indexOf = ({ record }: Stored): number => {
    const time = submitted(record) ?? begun(record) + SAME_SUBMISSION_MS;
    return Math.max(0, lastUpTo(submissions, time));
  };
  const jobs = groupBy(records, indexOf);
  return submissions.flatMap((_, index) => {
    const job = jobs.get(index);
    return job === undefined ? [] : [job];
  });
}

/**
 * Tests whether a record is only a user's claim: self-reported, while better records give the job to another owner. Any
 * user may hand in a record with any job number.
 */
function claimTest(records: readonly Recorded[]): (stored: Recorded) => boolean {
  const isHandedIn = ({ record }: Recorded): boolean => record.trust === 'self-reported';
  if (!records.some(isHandedIn)) return () => false;
  const known = records.filter((stored) => !isHandedIn(stored));
  const beginnings = [...groupBy(known, ({ record }) => record.owner)].map(
    ([owner, ofOwner]) => [owner, ofOwner.map(({ record }) => begun(record)).sort((a, b) => a - b)] as const,
  );
  return (stored) => {
    if (!isHandedIn(stored)) return false;
    const at = begun(stored.record);
    const near = beginnings.filter(([, times]) => {
      const last = times[lastUpTo(times, at + COMES_ROUND_MS)];
      return last !== undefined && last > at - COMES_ROUND_MS;
    });
    return near.length > 0 && near.every(([owner]) => owner !== stored.record.owner);
  };
}

/** The jobs that have had one number in one cluster, oldest first; jobs that users only claim come before them. */
function jobsOf<Stored extends Recorded>(records: readonly Stored[]): readonly (readonly Stored[])[] {
  const isClaim = claimTest(records);
  const claims = groupBy(records.filter(isClaim), ({ record }) => record.owner);
  if (claims.size === 0) return incarnations(records);
  // Sorted: the answer must not depend on the order in which a store gives its records.
  const byOwner = [...claims].sort(([a], [b]) => compareText(a ?? '', b ?? '')).map(([, ofOwner]) => ofOwner);
  return [
    ...byOwner.flatMap((ofOwner) => incarnations(ofOwner)),
    ...incarnations(records.filter((one) => !isClaim(one))),
  ];
}

/** Records (with ATTEMPT_FIELDS) by job, with its tasks and runs, in the order in which job numbers first appear. */
export function byJob(records: readonly JobRecord[]): readonly (readonly JobRecord[])[] {
  const numbers = groupBy(records, ({ cluster, job_id }) => `${cluster} ${job_id}`);
  return [...numbers.values()].flatMap((ofNumber) =>
    jobsOf(ofNumber.map((record) => ({ record }))).map((job) => job.map(({ record }) => record)),
  );
}

/**
 * The index of the master's run (in order) to which a slave task belongs that began at `at`: the last run that had
 * begun by then; -1: none. The clock of another host may put a task's beginning a little before its master's.
 */
function masterRunAt(at: number, masters: readonly Recorded[], beginnings: readonly number[]): number {
  const last = lastUpTo(beginnings, at);
  const next = beginnings[last + 1];
  if (next === undefined || next > at + CLOCK_TOLERANCE_MS) return last;
  const end = last < 0 ? -Infinity : (ms(masters[last]?.record.ended_at ?? null) ?? Infinity);
  return end < at ? last + 1 : last;
}

/** Runs of slave tasks without a record of their master: if a task's id comes again on its host, the job ran again. */
function masterlessRuns<Stored extends Recorded>(tasks: readonly Stored[]): readonly (readonly Stored[])[] {
  const runs: Stored[][] = [];
  const seen = new Set<string>();
  for (const task of tasks) {
    const key = `${task.record.pe_task_id ?? ''} ${task.record.host}`;
    if (runs.length === 0 || seen.has(key)) {
      seen.clear();
      runs.push([]);
    }
    seen.add(key);
    runs.at(-1)?.push(task);
  }
  return runs;
}

/** The runs of one job or array task, each with the records of the master, if there is one, and of its slave tasks. */
export function runsOf<Stored extends Recorded>(records: readonly Stored[]): readonly (readonly Stored[])[] {
  const at = new Map(records.map((stored) => [stored, begun(stored.record)]));
  const begunAt = (stored: Stored): number => at.get(stored) ?? 0;
  const sorted = [...records].sort(
    (a, b) =>
      begunAt(a) - begunAt(b) ||
      compareText(a.record.run_id, b.record.run_id) ||
      compareText(a.record.host, b.record.host),
  );
  const masters = sorted.filter(({ record }) => record.pe_task_id === null);
  const tasks = sorted.filter(({ record }) => record.pe_task_id !== null);
  const beginnings = masters.map(begunAt);
  const orphans: Stored[] = [];
  const runs = masters.map((master) => [master]);
  for (const task of tasks) (runs[masterRunAt(begunAt(task), masters, beginnings)] ?? orphans).push(task);
  return [...masterlessRuns(orphans), ...runs];
}

/** The slave tasks among the records of one job or array task of a cluster, each with its master's record. */
export function mastersOfTasks(records: readonly StoredRecord[]): ReadonlyMap<StoredRecord, StoredRecord> {
  const runs = jobsOf(records).flatMap(runsOf);
  return new Map(
    runs.flatMap((run) => {
      const master = run.find(({ record }) => record.pe_task_id === null);
      return master === undefined ? [] : run.flatMap((one) => (one === master ? [] : [[one, master] as const]));
    }),
  );
}

function attempts(records: readonly StoredRecord[], incarnation: number): JobAttempt[] {
  if (new Set(records.map(({ record }) => record.task_id)).size === records.length)
    return records.map(({ record, ended, provenance }) => ({
      record,
      ended,
      provenance,
      attempt: 1,
      attempts: 1,
      incarnation,
    }));
  return [...groupBy(records, ({ record }) => record.task_id).values()].flatMap((group) => {
    const runs = runsOf(group);
    return runs.flatMap((run, index) =>
      run.map((stored) => ({ ...stored, incarnation, attempt: index + 1, attempts: runs.length })),
    );
  });
}

function comparePlaces({ record: a }: JobAttempt, { record: b }: JobAttempt): number {
  return (a.task_id ?? 0) - (b.task_id ?? 0) || compareText(a.pe_task_id ?? '', b.pe_task_id ?? '');
}

/** All records of one job number as runs of its jobs, cluster by cluster, the oldest job first. */
function numberAttempts(records: readonly StoredRecord[]): readonly JobAttempt[] {
  const [only, ...others] = records;
  if (only !== undefined && others.length === 0) return [{ ...only, incarnation: 1, attempt: 1, attempts: 1 }];
  const clusters = [...groupBy(records, ({ record }) => record.cluster).values()].sort((a, b) =>
    compareText(a[0]?.record.cluster ?? '', b[0]?.record.cluster ?? ''),
  );
  return clusters.flatMap((ofCluster) =>
    jobsOf(ofCluster).flatMap((job, index) => attempts(job, index + 1).sort(comparePlaces)),
  );
}

/** Which jobs of a number are wanted: all, or in each cluster the newest, or the newest as of `at` (ms since the epoch). */
interface JobChoice {
  readonly all?: boolean;
  readonly at?: number;
}

/** When a job was submitted; where no record knows, when its first run began. */
function sinceOf(runs: readonly JobAttempt[]): number {
  const earliest = (times: readonly number[]): number => times.reduce((first, time) => Math.min(first, time), Infinity);
  const known = runs.flatMap(({ record }) => submitted(record) ?? []);
  return earliest(known.length > 0 ? known : runs.map(({ record }) => begun(record)));
}

/** The wanted jobs among runs (`numberAttempts`) of one job number. */
export function chooseJobs(runs: readonly JobAttempt[], { all, at }: JobChoice): JobAnswer {
  if (all) return { records: runs, older_incarnations: 0, newer_incarnations: 0 };
  let older = 0;
  let newer = 0;
  const chosen = [...groupBy(runs, ({ record }) => record.cluster).values()].flatMap((ofCluster) => {
    const jobs = [...groupBy(ofCluster, ({ incarnation }) => incarnation).values()];
    const newest = at === undefined ? jobs.length - 1 : jobs.findLastIndex((job) => sinceOf(job) <= at);
    older += Math.max(0, newest);
    newer += jobs.length - 1 - newest;
    return jobs[newest] ?? [];
  });
  return { records: chosen, older_incarnations: older, newer_incarnations: newer };
}

/** Numbers the attempts of every job among `records` (all of one job number, with ATTEMPT_FIELDS), and picks the wanted jobs. */
export const arrangeAttempts = (records: readonly StoredRecord[], choice: JobChoice): JobAnswer =>
  chooseJobs(numberAttempts(records), choice);

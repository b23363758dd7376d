import { arrangeAttempts, chooseJobs } from '../../accounting/attempts';
import { groupBy } from '../../base/group-by';
import type { AccountingReader, JobAnswer, JobAttempt, JobQuery } from '../../accounting/store';
import { MANY_TASKS, readTasks, type TaskRows, type TasksQuery } from '../../accounting/tasks';
import type { FieldName } from '../../record/fields';
import { privateWorld, privateCluster } from '../../record/job-name';
import { asStored } from '../../record/merge';
import type { JobRecord } from '../../record/record';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import type { JobReport } from '../../report/job/job';
import { usageError } from '../command';
import { findDistinct, mergeStoreRecords } from '../records/find';

/** Where the records of a job come from. */
export interface JobSources {
  readonly readers: readonly AccountingReader[];
  /** Preliminary records of the jobs that run on this host. */
  readonly running: () => Promise<readonly JobRecord[]>;
  /** The jobs that Grid Engine lists, also waiting ones; left out: Grid Engine is not asked. */
  readonly listed?: () => Promise<readonly ListedJob[]>;
}

/** A job with more records than this is not read whole at once: without series, and maybe only some fields. */
const MOST_WHOLE = MANY_TASKS;

interface Gathered {
  readonly answer: JobAnswer;
  readonly isFew: boolean;
  /** All records come from one store. */
  readonly isOne: boolean;
}

/** What is read first of a job with many runs. */
export interface FewFields {
  readonly fields: readonly FieldName[];
  /** The runs will be read again page by page, which is possible only if they all come from one store. */
  readonly paged: boolean;
}

async function gather(query: JobQuery, { readers, running }: JobSources): Promise<Gathered> {
  // All jobs with this number: which of them is the newest shows only when all sources are put together.
  const answers = await Promise.all(readers.map((reader) => reader.job({ ...query, all: true })));
  const live = (await running()).filter(
    (record) => record.job_id === query.job_id && (query.task_id ?? record.task_id) === record.task_id,
  );
  const [first = [], ...others] = answers.map(({ records }) => records).filter(({ length }) => length > 0);
  const isOne = others.length === 0 && live.length === 0;
  const unitedRuns = (): readonly JobAttempt[] =>
    arrangeAttempts(mergeStoreRecords([...first, ...others.flat(), ...live.map(asStored)]), { all: true }).records;
  const all = isOne ? first : unitedRuns();
  const found = [...groupBy(all, ({ record }) => record.cluster)].flatMap(([cluster, runs]) =>
    // A bare number means a job of the cluster, as private runs have names such as run-7.
    (query.cluster === undefined ? privateWorld(cluster) === null : cluster === query.cluster) ? runs : [],
  );
  const isFew = answers.some((answer) => answer.few_fields === true);
  return { answer: chooseJobs(found, query), isFew, isOne };
}

/** Whether the fields read are enough; not if few of the many records with this number are of the job asked for. */
function isEnough({ answer: { records }, isFew, isOne }: Gathered, paged: boolean): boolean {
  if (!isFew) return true;
  if (records.length <= MOST_WHOLE) return false;
  const [first] = records;
  return paged ? isOne : records.some(({ record }) => record.task_id !== first?.record.task_id);
}

/**
 * What all stores and this host know about a job, put together. `few`: the fields that suffice for an array with more
 * than MOST_WHOLE records, or for any job of that size whose runs are read again. Rejects with StoreError.
 */
export async function findJob(query: JobQuery, sources: JobSources, few?: FewFields): Promise<JobReport> {
  const many = few === undefined ? {} : { most_whole: MOST_WHOLE, fields: few.fields };
  const first = await gather({ ...query, ...many }, sources);
  // All fields, but without series if there are many records.
  const whole = first.answer.records.length > MOST_WHOLE ? { most_whole: MOST_WHOLE } : {};
  const enough = isEnough(first, few?.paged ?? false);
  const { answer } = enough ? first : await gather({ ...query, ...whole }, sources);
  return {
    job_id: query.job_id,
    ...(query.task_id === undefined ? {} : { task_id: query.task_id }),
    ...(query.cluster === undefined ? {} : { cluster: query.cluster }),
    runs: answer.records,
    ...(enough && first.isFew ? { few_fields: true } : {}),
    older: answer.older_incarnations,
    newer: answer.newer_incarnations,
  };
}

/** The fields to read for array tasks, which a store gives faster than whole records. */
export type TaskFields = Pick<TasksQuery, 'fields' | 'whole'>;

/**
 * The tasks of an array job with many tasks, all from one store; null: the records are needed. Rejects with StoreError.
 */
export async function findTasks(
  { job_id, cluster }: JobArgument,
  { readers, running }: JobSources,
  fields: TaskFields,
): Promise<TaskRows | null> {
  if ((await running()).some((record) => record.job_id === job_id)) return null;
  const query = { job_id, more_than: MOST_WHOLE, ...fields };
  const rows: TaskRows[] = [];
  for (const reader of readers) {
    const found = await readTasks(reader, query);
    if (found === null) return null;
    if (found.tasks > 0) rows.push(found);
  }
  const [only, ...others] = rows;
  if (only === undefined || others.length > 0 || only.tasks < 2) return null;
  const isAsked = cluster === undefined ? privateWorld(only.cluster ?? '') === null : cluster === only.cluster;
  return isAsked ? only : null;
}

/** A job or an array task as Grid Engine writes it ("4711", "4711.3"), or a run of `qmemacct run` ("run-7"). */
export interface JobArgument {
  readonly job_id: number;
  readonly task_id?: number;
  /** The cluster of a private run; left out: any cluster, but no private run. */
  readonly cluster?: string;
}

/** The newest job of the caller: of any name, or of names that match a pattern. */
interface NewestJob {
  readonly name: string | null;
}

/** The most jobs that a range may name, since most of them may be someone else's or long gone. */
const MOST_IN_A_RANGE = 1000;

function rangeOf(first: number, last: number, text: string): readonly JobArgument[] {
  if (first < 1 || last < first || last - first >= MOST_IN_A_RANGE)
    throw usageError(`"${text}" is not a range of jobs: write the lower number first, at most ${MOST_IN_A_RANGE} jobs`);
  return Array.from({ length: last - first + 1 }, (_, index) => ({ job_id: first + index }));
}

function jobsOf(text: string): readonly (JobArgument | NewestJob)[] {
  if (text === 'last') return [{ name: null }];
  const run = /^(run|demo)-([1-9]\d{0,9})$/.exec(text);
  const world = run?.[1] === 'demo' ? 'demo' : 'run';
  if (run !== null) return [{ job_id: Number(run[2]), cluster: privateCluster(world) }];
  const range = /^(\d{1,10})-(\d{1,10})$/.exec(text);
  if (range !== null) return rangeOf(Number(range[1]), Number(range[2]), text);
  // An output file of the job: sim.sh.o4711, sim.sh.o4711.3.
  const match = /^(?:.*\.(?:o|e|po|pe))?(\d{1,10})(?:\.(\d{1,10}))?$/.exec(text);
  const job = Number(match?.[1] ?? 0);
  const task = match?.[2] === undefined ? undefined : Number(match[2]);
  if (match === null && /^(?!(?:run|demo)-(?:\d|$))[^\d\s.,-][^\s,]*$/.test(text)) return [{ name: text }];
  if (job < 1 || task === 0)
    throw usageError(
      `"${text}" is not a job: write its number, as in 4711, 4711.3 for task 3, 4711-4720 or 4711,4713; a job name; or "last"`,
    );
  return [task === undefined ? { job_id: job } : { job_id: job, task_id: task }];
}

/**
 * Parses the words of `qmemacct job`: job numbers, lists and ranges of them, job names, output files, "last" (meant
 * also by no word at all). Throws a usage error for anything else.
 */
export function parseJobArguments(words: readonly string[]): readonly (JobArgument | NewestJob)[] {
  if (words.length === 0) return [{ name: null }];
  return words.flatMap((word) => (/^[\d.,-]+$/.test(word) ? word.split(',') : [word])).flatMap(jobsOf);
}

/** The number of the caller's newest job; null: none is known. Rejects with StoreError. */
export async function findNewest(
  { name }: NewestJob,
  owner: string,
  now: Date,
  sources: JobSources,
): Promise<JobArgument | null> {
  const query = {
    owner,
    since: 0,
    until: now.getTime() + 1,
    limit: 1,
    totals: false as const,
    ...(name === null ? {} : { job_name: name }),
  };
  const isMine = (record: JobRecord): boolean => record.owner === owner && (name === null || record.job_name === name);
  const records = [
    ...(await findDistinct(query, sources.readers)).map(({ record }) => record),
    ...(await sources.running()).filter(isMine),
  ];
  const submission = ({ submitted_at, started_at, ended_at }: JobRecord): number =>
    Date.parse(submitted_at ?? started_at ?? ended_at ?? '') || 0;
  const timeOf = (record: JobRecord): string => record.started_at ?? record.ended_at ?? '';
  const [newest] = records.sort((a, b) => (timeOf(a) < timeOf(b) ? 1 : -1));
  const [listed] = ((await sources.listed?.()) ?? [])
    .filter((job) => job.owner === owner && (name === null || job.name === name))
    .sort((a, b) => (b.submittedAt ?? 0) - (a.submittedAt ?? 0));
  if (listed !== undefined && (newest === undefined || submission(newest) < (listed.submittedAt ?? 0)))
    return { job_id: listed.job };
  if (newest === undefined) return null;
  const { job_id, cluster } = newest;
  return privateWorld(cluster) === null ? { job_id } : { job_id, cluster };
}

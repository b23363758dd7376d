import { arrangeAttempts, chooseJobs } from '../../accounting/attempts';
import type { AccountingReader, JobAnswer, JobAttempt, JobQuery } from '../../accounting/store';
import type { FieldName } from '../../record/fields';
import { privateWorld, privateCluster } from '../../record/job-name';
import { asStored, mergeRecords, type StoredRecord } from '../../record/merge';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import type { JobReport } from '../../report/job/job';
import { usageError } from '../command';

/** Where the records of a job come from. */
export interface JobSources {
  readonly readers: readonly AccountingReader[];
  /** Records so far of the jobs that run on this host. */
  readonly running: () => Promise<readonly JobRecord[]>;
  /** The jobs that Grid Engine lists, waiting ones too; left out: it is not asked. */
  readonly listed?: () => Promise<readonly ListedJob[]>;
}

/** Records of several stores, one of each run: what is in more than one of them is merged. */
export function unite(records: readonly StoredRecord[]): readonly StoredRecord[] {
  const found = new Map<string, StoredRecord>();
  for (const stored of records) {
    const key = recordKeyText(stored.record);
    const known = found.get(key);
    found.set(key, known === undefined ? stored : mergeRecords(known, stored));
  }
  return [...found.values()];
}

/** Of an array with more records nobody looks at all charts, and its screen shows few fields of each task. */
const MOST_WHOLE = 1000;

interface Gathered {
  readonly answer: JobAnswer;
  /** Some store had more than `most_whole`. */
  readonly isMany: boolean;
}

async function gather(query: JobQuery, { readers, running }: JobSources): Promise<Gathered> {
  // All jobs of this number: which of them is the newest is seen only when all sources are together.
  const answers = await Promise.all(readers.map((reader) => reader.job({ ...query, all: true })));
  const live = (await running()).filter(
    (record) => record.job_id === query.job_id && (query.task_id ?? record.task_id) === record.task_id,
  );
  const [first = [], ...others] = answers.map(({ records }) => records).filter(({ length }) => length > 0);
  const isOne = others.length === 0 && live.length === 0;
  const unitedRuns = (): readonly JobAttempt[] =>
    arrangeAttempts(unite([...first, ...others.flat(), ...live.map(asStored)]), { all: true }).records;
  const all = isOne ? first : unitedRuns();
  // A number is a cluster's job: private runs have names.
  const found = all.filter(
    ({ record: { cluster } }) =>
      (query.cluster ?? cluster) === cluster && (query.cluster !== undefined || privateWorld(cluster) === null),
  );
  const { most_whole: most = Infinity } = query;
  return { answer: chooseJobs(found, query), isMany: answers.some(({ records }) => records.length > most) };
}

/**
 * What every store and this host know of a job, put together; `fields`: of an array of more than a thousand records these
 * are enough, and their series are left out. Rejects with StoreError.
 */
export async function findJob(query: JobQuery, sources: JobSources, fields?: readonly FieldName[]): Promise<JobReport> {
  const many = { most_whole: MOST_WHOLE, ...(fields === undefined ? {} : { fields }) };
  const first = await gather({ ...query, ...many }, sources);
  const isArray = new Set(first.answer.records.map(({ record }) => record.task_id)).size > 1;
  // Of many records of this number few may be the job's that is asked for.
  const isWhole = !first.isMany || (isArray && first.answer.records.length > MOST_WHOLE);
  const { answer } = isWhole ? first : await gather(query, sources);
  return {
    job_id: query.job_id,
    ...(query.task_id === undefined ? {} : { task_id: query.task_id }),
    ...(query.cluster === undefined ? {} : { cluster: query.cluster }),
    runs: answer.records,
    older: answer.older_incarnations,
    newer: answer.newer_incarnations,
  };
}

/** A job, or one task of an array job, as Grid Engine writes them: "4711", "4711.3"; "run-7": one of `qmemacct run`. */
export interface JobArgument {
  readonly job_id: number;
  readonly task_id?: number;
  /** Of a private run; left out: of any cluster, and of no private run. */
  readonly cluster?: string;
}

/** The newest job of the caller: of any name, or of names that match a pattern. */
interface NewestJob {
  readonly name: string | null;
}

/** A range names jobs of which most may be someone else's or long gone. */
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
 * What the words of `qmemacct job` mean: numbers, lists and ranges of them, names, output files, "last" (also without
 * any word). Throws a usage error on anything else.
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
  const answers = await Promise.all(sources.readers.map((reader) => reader.records(query)));
  const isMine = (record: JobRecord): boolean => record.owner === owner && (name === null || record.job_name === name);
  const records = [
    ...answers.flatMap(({ records: found }) => found.map(({ record }) => record)),
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

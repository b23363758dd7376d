import { arrangeAttempts } from '../../accounting/attempts';
import type { AccountingReader, JobQuery } from '../../accounting/store';
import { privateWorld, privateCluster } from '../../record/job-name';
import { asStored, mergeRecords, type StoredRecord } from '../../record/merge';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { JobReport } from '../../report/job/job';
import { usageError } from '../command';

/** Where the records of a job come from. */
export interface JobSources {
  readonly readers: readonly AccountingReader[];
  /** Records so far of the jobs that run on this host. */
  readonly running: () => Promise<readonly JobRecord[]>;
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

/** What every store and this host know of a job, put together. Rejects with StoreError. */
export async function findJob(query: JobQuery, sources: JobSources): Promise<JobReport> {
  // All jobs of this number: which of them is the newest is seen only when all sources are together.
  const answers = await Promise.all(sources.readers.map((reader) => reader.job({ ...query, all: true })));
  const live = (await sources.running()).filter(
    (record) => record.job_id === query.job_id && (query.task_id ?? record.task_id) === record.task_id,
  );
  const all = unite([...answers.flatMap(({ records }) => records), ...live.map(asStored)]);
  // A number is a cluster's job: private runs have names.
  const found = all.filter(
    ({ record: { cluster } }) =>
      (query.cluster ?? cluster) === cluster && (query.cluster !== undefined || privateWorld(cluster) === null),
  );
  const answer = arrangeAttempts(found, query);
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

/** Throws a usage error where it is neither. */
export function parseJobArgument(text: string): JobArgument {
  const run = /^(run|demo)-(\d{1,10})$/.exec(text);
  const world = run?.[1] === 'demo' ? 'demo' : 'run';
  if (run !== null && Number(run[2]) > 0) return { job_id: Number(run[2]), cluster: privateCluster(world) };
  const match = /^(\d{1,10})(?:\.(\d{1,10}))?$/.exec(text);
  const job = Number(match?.[1] ?? 0);
  const task = match?.[2] === undefined ? undefined : Number(match[2]);
  if (job < 1 || task === 0)
    throw usageError(
      `"${text}" is not a job: write its number, as in 4711, or 4711.3 for task 3; run-7 is the seventh of "qmemacct run"`,
    );
  return task === undefined ? { job_id: job } : { job_id: job, task_id: task };
}

import type { RecordsQuery } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { HIDDEN } from '../../record/hidden';
import type { StoredRecord } from '../../record/merge';
import { nameClass } from '../../record/name-class';
import { jobKey, type JobRun } from '../job/job-run';
import type { MemoryRun } from './past-runs';
import {
  adviseMemory,
  adviseTime,
  classRuns,
  type ClassFields,
  type MemoryPromise,
  type TimePromise,
  type Wanted,
} from './class-advice';

const DAY_MS = 86_400_000;
/** What ran longer ago says little. */
const LOOK_BACK_DAYS = 365;
const MOST_RECORDS = 400;
/** Advice states this risk where nobody asks for another. */
export const RISK = 0.01;
/** Questions of one command or answer. */
const MOST_QUESTIONS = 50;
/** A server takes no longer one. */
const LONGEST_NAME = 512;

type FindRecords = (query: RecordsQuery) => Promise<readonly StoredRecord[]>;

/** A list that was cut may hold the oldest job in part. */
function withoutOldest(found: readonly StoredRecord[]): readonly StoredRecord[] {
  const endOf = ({ record }: StoredRecord): string => record.ended_at ?? '';
  const { record: oldest } = found.reduce((first, one) => (endOf(one) < endOf(first) ? one : first));
  return found.filter(({ record }) => record.job_id !== oldest.job_id || record.task_id !== oldest.task_id);
}

/** The past runs of jobs by owner and name, asked for once each. */
export class ClassHistory {
  private readonly answers = new Map<string, Promise<readonly StoredRecord[]>>();
  private readonly promises = new Map<string, Promise<MemoryPromise | null>>();

  /** `find` as a store's `records`, which may reject with StoreError; `now`: ms; `mostRecords`: of one kind. */
  constructor(
    private readonly find: FindRecords,
    private readonly now: number,
    private readonly mostRecords = MOST_RECORDS,
  ) {}

  /** The memory to request for a job of this kind. Rejects with StoreError. */
  async memoryOf(fields: ClassFields, wanted: Wanted = { risk: RISK }): Promise<MemoryPromise | null> {
    return adviseMemory(await this.runsLike(fields), fields, wanted);
  }

  /** The same of its elapsed time. */
  async timeOf(fields: ClassFields, wanted: Wanted): Promise<TimePromise | null> {
    return adviseTime(await this.runsLike(fields), fields, wanted);
  }

  /** The runs that both rest on, as far as it is known what memory they needed. Rejects with StoreError. */
  async memoryRuns(fields: ClassFields): Promise<readonly MemoryRun[]> {
    return classRuns(await this.runsLike(fields), fields);
  }

  /** The latest records of the owner's jobs of names that differ in their digits only; none: too much was asked for. */
  private runsLike({ owner, jobName }: ClassFields): Promise<readonly StoredRecord[]> {
    const pattern = jobName.replace(/\d+|#/g, '*');
    if (owner === '' || owner === HIDDEN || pattern === '' || pattern.length > LONGEST_NAME) return Promise.resolve([]);
    const key = JSON.stringify([owner, pattern]);
    const known = this.answers.get(key);
    if (known !== undefined) return known;
    if (this.answers.size >= MOST_QUESTIONS) return Promise.resolve([]);
    const answer = this.find({
      owner,
      job_name: pattern,
      states: ['finished', 'unsampled', 'lost'],
      since: this.now - LOOK_BACK_DAYS * DAY_MS,
      until: this.now + 1,
      limit: this.mostRecords,
      totals: false,
    }).then((found) => (found.length < this.mostRecords ? found : withoutOldest(found)));
    this.answers.set(key, answer);
    return answer;
  }

  /** The same runs, each with what past runs of its job's kind promise. */
  async advise<Run extends JobRun>(runs: readonly Run[]): Promise<readonly Run[]> {
    const advised: Run[] = [];
    for (const group of groupBy(runs, (run) => `${run.record.job_id} ${jobKey(run)}`).values()) {
      const promise = await this.promiseFor(group);
      for (const run of group) advised.push(promise === null ? run : { ...run, promise });
    }
    return advised;
  }

  /** Jobs of one class have one promise: it is worked out once. */
  private promiseFor(runs: readonly JobRun[]): Promise<MemoryPromise | null> {
    // A task of a parallel job may have no name of its own.
    const job = runs.find(({ record }) => record.pe_task_id === null && record.job_name !== null)?.record;
    if (job?.owner == null || job.job_name === null) return Promise.resolve(null);
    const { owner, job_name, slots, pe, project, queue, cluster } = job;
    const fields = { owner, jobName: nameClass(job_name), slots, pe, project, queue, cluster };
    const key = JSON.stringify(fields);
    const promise = this.promises.get(key) ?? this.memoryOf(fields);
    this.promises.set(key, promise);
    return promise;
  }
}

import type { RecordsQuery } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { HIDDEN } from '../../record/hidden';
import type { StoredRecord } from '../../record/merge';
import { jobKey, type JobRun } from '../job/job-run';
import { adviseClass, type ClassAdvice, type ClassFields } from './class-advice';

const DAY_MS = 86_400_000;
/** What ran longer ago says little. */
const LOOK_BACK_DAYS = 365;
const MOST_RECORDS = 400;
/** Advice states this risk where nobody asks for another. */
const RISK = 0.01;
/** Questions of one command or answer. */
const MOST_QUESTIONS = 50;
/** A server takes no longer one. */
const LONGEST_NAME = 512;

type FindRecords = (query: RecordsQuery) => Promise<readonly StoredRecord[]>;

/** The past runs of jobs by owner and name, asked for once each. */
export class ClassHistory {
  private readonly answers = new Map<string, Promise<readonly StoredRecord[]>>();

  /** `find` as a store's `records`, which may reject with StoreError; `now`: ms. */
  constructor(
    private readonly find: FindRecords,
    private readonly now: number,
  ) {}

  /** What to request for a job of this kind, which needs `least` bytes per slot itself. Rejects with StoreError. */
  async adviceOf(
    fields: ClassFields,
    asked: { readonly risk?: number; readonly least?: number } = {},
  ): Promise<ClassAdvice> {
    const past = await this.runsLike(fields.owner, fields.jobName);
    return adviseClass(past, fields, { risk: RISK, ...asked });
  }

  /** The latest records of the owner's jobs of names that differ in their digits only; none: too much was asked for. */
  private runsLike(owner: string, jobName: string): Promise<readonly StoredRecord[]> {
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
      limit: MOST_RECORDS,
      totals: false,
    });
    this.answers.set(key, answer);
    return answer;
  }

  /** The same runs, each with what past runs of its job's kind say. */
  async advise<Run extends JobRun>(runs: readonly Run[]): Promise<readonly Run[]> {
    const advised: Run[] = [];
    for (const group of groupBy(runs, (run) => `${run.record.job_id} ${jobKey(run)}`).values()) {
      const advice = await this.adviceFor(group);
      for (const run of group) advised.push(advice === null ? run : { ...run, advice });
    }
    return advised;
  }

  private async adviceFor(runs: readonly JobRun[]): Promise<ClassAdvice | null> {
    // A task of a parallel job may have no name of its own.
    const job = runs.find(({ record }) => record.pe_task_id === null && record.job_name !== null)?.record;
    if (job?.owner == null || job.job_name === null) return null;
    const { owner, job_name: jobName, slots, pe, project, queue, cluster } = job;
    return this.adviceOf({ owner, jobName, slots, pe, project, queue, cluster });
  }
}

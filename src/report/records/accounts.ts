import { arrangeAttempts, ATTEMPT_FIELDS } from '../../accounting/attempts';
import { groupBy } from '../../base/group-by';
import type { FieldName } from '../../record/fields';
import type { StoredRecord } from '../../record/merge';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { ClassHistory } from '../advice/class-history';
import { nextRequests } from '../advice/next-request';
import { runsOfSeveral, type JobRun } from '../job/job-run';
import { withClasses, type Judges } from '../rules/judge';
import type { Account } from './json';

/** Finds the records of some jobs, as a store's `jobs` does. Rejects with StoreError. */
export type FindJobs = (numbers: readonly number[], fields?: readonly FieldName[]) => Promise<readonly StoredRecord[]>;

/** What is said of a record beside its fields. */
type Said = Omit<Account, 'record'>;

/** What is known of the runs of a job number beyond its single records. */
interface JobRuns {
  /** Records of runs that are not the first of the first job of this number, by their keys. */
  readonly later: ReadonlyMap<string, Pick<JobRun, 'attempt' | 'incarnation'>>;
  /** What is said of each record of a job (array task) that has several records, by its key. */
  readonly said: ReadonlyMap<string, Said>;
}

const FIRST = { attempt: 1, incarnation: 1 };

/** At most so many jobs are asked for at once: all their records are in memory together. */
const ASKED_AT_ONCE = 2000;

/**
 * What machine formats show of records, page by page: which run of its job each is, what to request next time and, if
 * asked for, its classes. A store numbers the runs of whole jobs; what the next page may need of this is kept.
 */
export class Accounts {
  private jobs: ReadonlyMap<number, JobRuns> = new Map();

  constructor(
    private readonly findJobs: FindJobs,
    private readonly history: ClassHistory,
    private readonly judging: Judges | null,
  ) {}

  /** Rejects with StoreError. */
  async of(records: readonly JobRecord[]): Promise<readonly Account[]> {
    await this.turnTo([...new Set(records.map(({ job_id: job }) => job))]);
    const said = new Map<JobRecord, Said>();
    const alone: JobRun[] = [];
    for (const record of records) {
      const key = recordKeyText(record);
      const job = this.jobs.get(record.job_id);
      const known = job?.said.get(key);
      if (known === undefined) alone.push({ record, ...(job?.later.get(key) ?? FIRST) });
      else said.set(record, known);
    }
    for (const { record, ...rest } of await this.judged(alone)) said.set(record, rest);
    return records.map((record) => ({ record, ...(said.get(record) ?? { attempt: 1, next_time: null }) }));
  }

  private async turnTo(numbers: readonly number[]): Promise<void> {
    const jobs = new Map<number, JobRuns>();
    const asked: number[] = [];
    for (const number of numbers) {
      const known = this.jobs.get(number);
      if (known === undefined) asked.push(number);
      else jobs.set(number, known);
    }
    for (let first = 0; first < asked.length; first += ASKED_AT_ONCE)
      await this.ask(asked.slice(first, first + ASKED_AT_ONCE), jobs);
    this.jobs = jobs;
  }

  private async ask(numbers: readonly number[], jobs: Map<number, JobRuns>): Promise<void> {
    const several: number[] = [];
    for (const [number, ofJob] of await this.find(numbers, ATTEMPT_FIELDS)) {
      const runs = arrangeAttempts(ofJob, { all: true }).records;
      const later = runs.flatMap(({ record, attempt, incarnation }) =>
        attempt === 1 && incarnation === 1 ? [] : [[recordKeyText(record), { attempt, incarnation }] as const],
      );
      jobs.set(number, { later: new Map(later), said: new Map() });
      if (runsOfSeveral(runs).length > 0) several.push(number);
    }
    for (const [number, ofJob] of await this.find(several)) {
      const judged = await this.judged(runsOfSeveral(arrangeAttempts(ofJob, { all: true }).records));
      const said = judged.map(({ record, ...rest }) => [recordKeyText(record), rest] as const);
      jobs.set(number, { later: jobs.get(number)?.later ?? new Map(), said: new Map(said) });
    }
  }

  private async find(
    numbers: readonly number[],
    fields?: readonly FieldName[],
  ): Promise<ReadonlyMap<number, readonly StoredRecord[]>> {
    if (numbers.length === 0) return new Map();
    return groupBy(await this.findJobs(numbers, fields), ({ record }) => record.job_id);
  }

  private async judged(runs: readonly JobRun[]): Promise<readonly Account[]> {
    const advised = nextRequests(await this.history.advise(runs));
    return this.judging === null ? advised : withClasses(advised, this.judging.rules, this.judging.kindOf);
  }
}

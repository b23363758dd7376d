import { arrangeAttempts } from '../../accounting/attempts';
import type { AccountingReader, RecordFilter, RecordPage, Shown } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import { pagesOf } from '../../export/records';
import type { FieldName } from '../../record/fields';
import type { StoredRecord } from '../../record/merge';
import { recordKeyText, type JobRecord } from '../../record/record';
import type { ClassHistory } from '../../report/advice/class-history';
import { nextRequests } from '../../report/advice/next-request';
import { runKey, type JobRun } from '../../report/job/job-run';
import { CsvWriter } from '../../report/records/csv';
import { JsonWriter, type Account, type AccountWriter } from '../../report/records/json';
import { withClasses, type KindOf } from '../../report/rules/judge';
import { Kinds, KIND_FIELDS } from '../../report/rules/kinds';
import type { RuleSet } from '../../report/rules/rule-set';
import { unite } from '../job/find-job';
import { writePieces } from '../output';
import type { Terminal } from '../terminal';

/** By what runs are put into classes. */
interface Judging {
  readonly rules: RuleSet;
  readonly kindOf: KindOf;
}

/** Where accounts go. `judge` may change them before. */
interface AccountOutput {
  readonly writer: AccountWriter;
  readonly terminal: Pick<Terminal, 'write'>;
  readonly judge?: (accounts: readonly Account[]) => readonly Account[];
}

/** What is said of a record beside its fields. */
type Said = Omit<Account, 'record'>;

/** The runs of a job number, as far as its records do not show them one by one. */
interface JobRuns {
  /** Records of runs that are not the first of the first job of this number, by their keys. */
  readonly later: ReadonlyMap<string, Pick<JobRun, 'attempt' | 'incarnation'>>;
  /** What is said of all records, by their keys, where several of them are one run; else none. */
  readonly said: ReadonlyMap<string, Said>;
}

/** What `arrangeAttempts` needs. */
const RUN_FIELDS: readonly FieldName[] = [
  ...(['cluster', 'job_id', 'task_id', 'pe_task_id', 'host', 'run_id', 'revision'] as const),
  ...(['submitted_at', 'started_at', 'ended_at'] as const),
];

const FIRST = { attempt: 1, incarnation: 1 };

/** Jobs in one question: their records, which can be many for each, are in memory. */
const ASKED_AT_ONCE = 2000;

/**
 * What the machine formats print of records, page by page: which run of its job each is, what to request for the next and
 * its classes. A store numbers the runs of whole jobs; of these is kept what the next page may need.
 */
export class Accounts {
  private jobs: ReadonlyMap<number, JobRuns> = new Map();

  constructor(
    private readonly readers: readonly AccountingReader[],
    private readonly history: ClassHistory,
    private readonly judging: Judging,
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
    const parallel: number[] = [];
    for (const [number, ofJob] of await this.find(numbers, RUN_FIELDS)) {
      const runs = arrangeAttempts(ofJob, { all: true }).records;
      const later = runs.flatMap(({ record, attempt, incarnation }) =>
        attempt === 1 && incarnation === 1 ? [] : [[recordKeyText(record), { attempt, incarnation }] as const],
      );
      jobs.set(number, { later: new Map(later), said: new Map() });
      if (new Set(runs.map(runKey)).size < runs.length) parallel.push(number);
    }
    for (const [number, ofJob] of await this.find(parallel)) {
      const judged = await this.judged(arrangeAttempts(ofJob, { all: true }).records);
      const said = judged.map(({ record, ...rest }) => [recordKeyText(record), rest] as const);
      jobs.set(number, { later: new Map(), said: new Map(said) });
    }
  }

  private async find(
    numbers: readonly number[],
    fields?: readonly FieldName[],
  ): Promise<ReadonlyMap<number, readonly StoredRecord[]>> {
    if (numbers.length === 0) return new Map();
    const found = (await Promise.all(this.readers.map((reader) => reader.jobs(numbers, fields)))).flat();
    return groupBy(this.readers.length > 1 ? unite(found) : found, ({ record }) => record.job_id);
  }

  private async judged(runs: readonly JobRun[]): Promise<readonly Account[]> {
    const { rules, kindOf } = this.judging;
    return withClasses(nextRequests(await this.history.advise(runs)), rules, kindOf);
  }
}

/** Where records and what is said of them come from. */
export interface AccountSources {
  readonly readers: readonly AccountingReader[];
  readonly history: ClassHistory;
  readonly rules: RuleSet;
}

export const writerOf = (format: 'json' | 'csv'): AccountWriter =>
  format === 'json' ? new JsonWriter() : new CsvWriter();

/** Records that are judged and written at once. */
const WRITTEN_AT_ONCE = 1000;

/** Writes accounts of records, some at a time; `judge` may change them. Resolves to how many. Rejects with StoreError. */
export async function writeAccounts(
  pages: AsyncIterable<readonly JobRecord[]> | Iterable<readonly JobRecord[]>,
  kinds: Kinds,
  { readers, history, rules }: AccountSources,
  { writer, terminal, judge = (found) => found }: AccountOutput,
): Promise<number> {
  const accounts = new Accounts(readers, history, { rules, kindOf: kinds.of });
  let written = 0;
  for await (const page of pages)
    for (let at = 0; at < page.length; at += WRITTEN_AT_ONCE) {
      const found = await accounts.of(page.slice(at, at + WRITTEN_AT_ONCE));
      writePieces(terminal, writer.some(judge(found)));
      written += found.length;
    }
  writePieces(terminal, writer.end());
  return written;
}

async function* recordPages(pages: AsyncIterable<RecordPage>): AsyncGenerator<readonly JobRecord[]> {
  for await (const { records } of pages) yield records.map(({ record }) => record);
}

/** Writes all records of a filter, store by store, the newest first, in bounded memory; resolves to how many. */
export async function writeAll(
  filter: RecordFilter,
  sources: AccountSources,
  output: AccountOutput,
  onShown: (shown: Shown) => void,
): Promise<number> {
  const { readers } = sources;
  const kinds = new Kinds();
  for await (const page of recordPages(pagesOf({ ...filter, fields: KIND_FIELDS }, readers, onShown))) kinds.add(page);
  return writeAccounts(recordPages(pagesOf(filter, readers, () => undefined)), kinds, sources, output);
}

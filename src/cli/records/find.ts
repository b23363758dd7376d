import { addRecords, addSummaries, chooseGroups } from '../../accounting/add-summaries';
import { arrangeAttempts } from '../../accounting/attempts';
import type { AccountingReader, RecordsAnswer, RecordsQuery } from '../../accounting/store';
import type { SummaryAnswer, SummaryQuery } from '../../accounting/summary';
import { groupBy } from '../../base/group-by';
import { recordKeyText, type JobRecord } from '../../record/record';
import { ClassHistory } from '../../report/advice/class-history';
import { nextRequests } from '../../report/advice/next-request';
import type { Account } from '../../report/records/json';
import { withClasses, type KindOf } from '../../report/rules/judge';
import type { RuleSet } from '../../report/rules/rule-set';
import { unite } from '../job/find-job';

/**
 * The records and totals of a filter from every store (one at least), store by store: no order over all, and up to
 * `query.limit` records of each. Rejects with StoreError.
 */
export async function findRecords(query: RecordsQuery, readers: readonly AccountingReader[]): Promise<RecordsAnswer> {
  const answers = await Promise.all(readers.map((reader) => reader.records(query)));
  return answers.reduce(addRecords);
}

const EVERY_GROUP = 1_000_000_000;

/** The sums of every store (one at least), added up. Rejects with StoreError. */
export async function findSummary(query: SummaryQuery, readers: readonly AccountingReader[]): Promise<SummaryAnswer> {
  const [only, ...others] = readers;
  if (only !== undefined && others.length === 0) return only.summary(query);
  // A group that is small in each store may be large in all of them: none is left out before they are added up.
  const answers = await Promise.all(readers.map((reader) => reader.summary({ ...query, limit: EVERY_GROUP })));
  return chooseGroups(
    answers.reduce((sum, answer) => addSummaries(sum, answer)),
    query,
  );
}

/** The past runs of jobs in every store. */
export function historyOf(readers: readonly AccountingReader[], now: Date): ClassHistory {
  return new ClassHistory(async (query) => unite((await findRecords(query, readers)).records), now.getTime());
}

/** By what runs are put into classes. */
interface Judging {
  readonly rules: RuleSet;
  readonly kindOf: KindOf;
}

/** Jobs in one question: their records, which can be many for each, are in memory. */
const ASKED_AT_ONCE = 2000;

/**
 * Which run of its job each record is, and what to request for the next: a store numbers the runs of whole jobs. Rejects
 * with StoreError.
 */
export async function findAttempts(
  records: readonly JobRecord[],
  readers: readonly AccountingReader[],
  history: ClassHistory,
  { rules, kindOf }: Judging,
): Promise<readonly Account[]> {
  // Not the records that they are of: these are in memory once.
  const found = new Map<string, Omit<Account, 'record'>>();
  const jobs = [...new Set(records.map((record) => record.job_id))];
  for (let first = 0; first < jobs.length; first += ASKED_AT_ONCE) {
    const some = jobs.slice(first, first + ASKED_AT_ONCE);
    const answers = await Promise.all(readers.map((reader) => reader.jobs(some)));
    const byJob = groupBy(unite(answers.flat()), ({ record }) => record.job_id);
    for (const ofJob of byJob.values()) {
      const runs = await history.advise(arrangeAttempts(ofJob, { all: true }).records);
      for (const { record, ...account } of withClasses(nextRequests(runs), rules, kindOf))
        found.set(recordKeyText(record), account);
    }
  }
  return records.map((record) => {
    const known = found.get(recordKeyText(record)) ?? { attempt: 1, next_time: null };
    return { record, ...known };
  });
}

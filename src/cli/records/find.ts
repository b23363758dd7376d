import { addRecords, addSummaries, chooseGroups } from '../../accounting/add-summaries';
import type { AccountingReader, PagesQuery, RecordsAnswer, RecordsQuery } from '../../accounting/store';
import { mergeRecords, type StoredRecord } from '../../record/merge';
import { recordKeyText } from '../../record/record';
import type { SummaryAnswer, SummaryQuery } from '../../accounting/summary';
import { ClassHistory } from '../../report/advice/class-history';
import type { FindJobs } from '../../report/records/accounts';

/** Merges records of several stores into one for each run. */
export function mergeStoreRecords(records: readonly StoredRecord[]): readonly StoredRecord[] {
  const found = new Map<string, StoredRecord>();
  for (const stored of records) {
    const key = recordKeyText(stored.record);
    const known = found.get(key);
    found.set(key, known === undefined ? stored : mergeRecords(known, stored));
  }
  return [...found.values()];
}

/**
 * The records and totals of a filter from every store (at least one), up to `query.limit` records of each, one store
 * after another without a common order. Rejects with StoreError.
 */
export async function findRecords(query: RecordsQuery, readers: readonly AccountingReader[]): Promise<RecordsAnswer> {
  const answers = await Promise.all(readers.map((reader) => reader.records(query)));
  return answers.reduce(addRecords);
}

/** The records of a filter, each once even if several stores have it. Rejects with StoreError. */
export async function findDistinct(
  query: RecordsQuery,
  readers: readonly AccountingReader[],
): Promise<readonly StoredRecord[]> {
  if (readers.length === 0) return [];
  const { records } = await findRecords(query, readers);
  return readers.length > 1 ? mergeStoreRecords(records) : records;
}

/** Like `findDistinct`, page by page, for many records; from several stores all on one page. Throws StoreError. */
export async function* distinctPages(
  query: PagesQuery,
  readers: readonly AccountingReader[],
): AsyncGenerator<readonly StoredRecord[]> {
  const all: StoredRecord[] = [];
  for (const reader of readers)
    for await (const { records } of reader.pages(query))
      if (readers.length === 1) yield records;
      else all.push(...records);
  if (readers.length > 1) yield mergeStoreRecords(all);
}

const EVERY_GROUP = 1_000_000_000;

/** The sums of every store (at least one), added up. Rejects with StoreError. */
export async function findSummary(query: SummaryQuery, readers: readonly AccountingReader[]): Promise<SummaryAnswer> {
  const [only, ...others] = readers;
  if (only !== undefined && others.length === 0) return only.summary(query);
  // A group that is small in each store may be large in total, so none is left out before the sums are added up.
  const answers = await Promise.all(readers.map((reader) => reader.summary({ ...query, limit: EVERY_GROUP })));
  return chooseGroups(
    answers.reduce((sum, answer) => addSummaries(sum, answer)),
    query,
  );
}

/** Finds the records of jobs in all stores. */
export function jobsIn(readers: readonly AccountingReader[]): FindJobs {
  return async (numbers, fields) => {
    const found = (await Promise.all(readers.map((reader) => reader.jobs(numbers, fields)))).flat();
    return readers.length > 1 ? mergeStoreRecords(found) : found;
  };
}

/** The history of job classes, from all stores. */
export function historyOf(readers: readonly AccountingReader[], now: Date): ClassHistory {
  return new ClassHistory((query) => findDistinct(query, readers), now.getTime());
}

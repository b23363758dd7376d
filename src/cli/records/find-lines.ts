import { NO_TOTALS, sumTotals } from '../../accounting/add-summaries';
import { recordTest } from '../../accounting/filter-record';
import type { JobLinesAnswer } from '../../accounting/job-line';
import type {
  AccountingReader,
  JobLinesWanted,
  RecordFilter,
  RecordsAnswer,
  RecordsQuery,
} from '../../accounting/store';
import { recordKeyText } from '../../record/record';
import { newestFirst, toJobLines, toLines, type RecordLine } from '../../report/records/lines';
import type { Finding } from '../../report/rules/judge';
import { findRecords, jobsIn } from './find';

/** How many of the newest records are read first, and the least factor for each further try if they make few lines. */
const FIRST = 500;
const GROWTH = 8;

export interface FoundLines {
  readonly answer: RecordsAnswer;
  readonly lines: readonly RecordLine[];
  /** For a class: the finding for each record, by its key, and how many runs were too many to be examined. */
  readonly ofClass?: { readonly findings: ReadonlyMap<string, Finding>; readonly leftOut: number };
}

/** Adds to lines the tasks and runs that were not among the records read so far. Rejects with StoreError. */
async function completed(
  lines: readonly RecordLine[],
  query: RecordsQuery,
  readers: readonly AccountingReader[],
): Promise<readonly RecordLine[]> {
  const several = lines.filter((line) => line.length > 1 || line[0].task_id !== null);
  if (several.length === 0) return lines;
  const numbers = [...new Set(several.map(([{ job_id }]) => job_id))];
  const names = new Map(several.flat().map(({ job_id, job_name }) => [job_id, job_name]));
  const test = recordTest(query);
  const records = (await jobsIn(readers)(numbers, query.fields))
    .map(({ record }) => record)
    .filter((record) => test(record, record.job_name ?? names.get(record.job_id) ?? null));
  const whole = new Map(
    toJobLines(records, 'time').flatMap((line) => line.map((record) => [recordKeyText(record), line] as const)),
  );
  return lines.map((line) => whole.get(recordKeyText(line[0])) ?? line);
}

/**
 * The newest jobs of a query, each added up by its store. null: a store can't do that, or a job is parallel or in
 * several stores. Rejects with StoreError.
 */
export async function findJobSums(
  query: RecordFilter,
  wanted: Omit<JobLinesWanted, 'least'>,
  readers: readonly AccountingReader[],
): Promise<JobLinesAnswer | null> {
  const answers = await Promise.all(
    readers.map(async (reader) => reader.jobLines?.(query, { ...wanted, least: FIRST }) ?? null),
  );
  const found = answers.filter((answer) => answer !== null);
  if (found.length < readers.length) return null;
  const lines = newestFirst(found.flatMap((answer) => answer.lines));
  const jobs = new Set(lines.map(({ latest: { cluster, job_id } }) => `${cluster} ${job_id}`));
  if (jobs.size < lines.length) return null;
  return {
    lines: lines.slice(0, wanted.jobs),
    waits: found.flatMap(({ waits }) => waits),
    read: found.reduce((sum, { read }) => sum + read, 0),
    totals: found.reduce((sum, { totals }) => sumTotals(sum, totals), NO_TOTALS),
  };
}

/** The first `most` records of a query, a line each. Rejects with StoreError. */
export async function findTaskLines(
  query: RecordsQuery,
  most: number,
  readers: readonly AccountingReader[],
): Promise<FoundLines> {
  const answer = await findRecords(query, readers);
  const records = answer.records.map(({ record }) => record);
  return { answer, lines: toLines(records, query.sort ?? 'time').slice(0, most) };
}

/**
 * The first `most` jobs of a query, in its order, each with all its records that the query selects. The order by time
 * needs only the newest records; other orders compare whole jobs and need all records. Rejects with StoreError.
 */
export async function findJobLines(
  query: RecordsQuery & { readonly limit: number },
  most: number,
  readers: readonly AccountingReader[],
): Promise<FoundLines> {
  const { sort = 'time' } = query;
  const linesOf = ({ records }: RecordsAnswer): readonly RecordLine[] =>
    toJobLines(
      records.map(({ record }) => record),
      sort,
    );
  if (sort !== 'time') {
    const answer = await findRecords(query, readers);
    return { answer, lines: linesOf(answer).slice(0, most) };
  }
  let limit = FIRST;
  const first = await findRecords({ ...query, limit }, readers);
  const { totals } = first;
  for (let answer = first; ;) {
    const lines = linesOf(answer);
    // Not by the totals, which leave out self-reported records.
    const isWhole = answer.records.length < limit;
    if (lines.length > most && !isWhole)
      return { answer: { ...answer, totals }, lines: await completed(lines.slice(0, most), query, readers) };
    if (isWhole || limit >= query.limit) return { answer: { ...answer, totals }, lines: lines.slice(0, most) };
    const enough = Math.ceil((2 * most) / Math.max(1, lines.length));
    limit = Math.min(query.limit, limit * Math.max(GROWTH, enough));
    answer = await findRecords({ ...query, limit, totals: false }, readers);
  }
}

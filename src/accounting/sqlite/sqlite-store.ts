import type { Database } from 'better-sqlite3';
import type { JobRecord } from '../../record/record';
import { byPlace } from '../by-place';
import { arrangeAttempts } from '../attempts';
import type { StoredRecord } from '../../record/merge';
import type {
  AccountingReader,
  AccountingStore,
  JobQuery,
  MergeOutcome,
  RecordFilter,
  RecordsQuery,
  RunningQuery,
} from '../store';
import { DEFAULT_LIMIT } from '../sorts';
import type { SummaryQuery } from '../summary';
import { noTotals, type Totals } from '../../record/totals';
import { createWords, type Words } from './database/dictionary';
import { asPromise, isStoreFault } from './database/faults';
import { createMerger } from './write/merger';
import { openForReading, openForWriting } from './database/open';
import { putStatus, readStatuses } from './node-status';
import { prepared } from './database/prepared';
import { COUNT_OF_JOB, jobQuery, jobsQuery, pageQuery, recordIn, recordsQuery, runningQuery } from './read/queries';
import { jobLines } from './read/job-lines';
import { largestRecords } from './read/largest';
import { recordPages, recordTables } from './read/pages';
import { taskTable } from './read/tasks';
import { conditionOf } from './read/record-filter';
import { rowPlan, type RowPlan } from '../row';
import { daysOfKey } from './read/spans';
import { staleHours } from './write/stale-hours';
import { summarise } from './sums/summarise';

/** The first records that a query selects, in its order; call it inside one transaction. */
function selectRecords(db: Database, words: Words, query: RecordsQuery): readonly StoredRecord[] {
  const { sort = 'time', limit = DEFAULT_LIMIT } = query;
  const condition = conditionOf(query, words);
  if (condition === null) return [];
  const plan = rowPlan(query.fields);
  const recordOf = (row: string): StoredRecord => recordIn(row, words, plan);
  if (sort !== 'time') {
    const ids = largestRecords(db, words, condition, { ...query, sort, limit });
    const rows = prepared<[string], string>(db, pageQuery(plan.columns, false), 'pluck');
    return Array.from(rows.iterate(JSON.stringify(ids)), recordOf);
  }
  const statement = prepared<object, string>(db, recordsQuery(condition, plan.columns), 'pluck');
  const newest: StoredRecord[] = [];
  for (const span of daysOfKey(db, condition, query)) {
    if (newest.length >= limit) break;
    const parameters = { ...condition.parameters, ...span, limit: limit - newest.length };
    for (const row of statement.iterate(parameters)) newest.push(recordOf(row));
  }
  return newest;
}

const totalsOf = (db: Database, words: Words, query: RecordFilter): Totals =>
  summarise(db, words, { ...query, by: 'cluster', sort: 'records', limit: 0 }).totals;

/** Whether a job has more records than are wanted whole. */
function hasMany(db: Database, { job_id, task_id, most_whole: most }: JobQuery): boolean {
  if (most === undefined || task_id !== undefined) return false;
  return (prepared<[number], number>(db, COUNT_OF_JOB, 'pluck').get(job_id) ?? 0) > most;
}

function reader(db: Database, words: Words): AccountingReader {
  /** The records of a query with rows as those of `pageQuery`. */
  const read = (sql: string, parameters: object | string, plan?: RowPlan): StoredRecord[] => {
    const rows = prepared<[object | string], string>(db, sql, 'pluck').iterate(parameters);
    return Array.from(rows, (row) => recordIn(row, words, plan));
  };
  /** The cluster's number; undefined: no cluster is asked for, null: the store has none of that name. */
  const clusterId = (cluster: string | undefined): number | null | undefined =>
    cluster === undefined ? undefined : words.find('cluster', cluster);
  return {
    job: (query: JobQuery) =>
      asPromise(db, () => {
        const cluster = clusterId(query.cluster);
        if (cluster === null) return arrangeAttempts([], query);
        const parameters = { job_id: query.job_id, task_id: query.task_id, cluster_id: cluster };
        const many = hasMany(db, query);
        const by = { task: query.task_id !== undefined, cluster: cluster !== undefined, series: !many };
        const plan = rowPlan(many ? query.fields : undefined, false);
        const found = read(jobQuery(by, plan.columns), parameters, plan);
        return { ...arrangeAttempts(found, query), ...(many ? { few_fields: true } : {}) };
      }),
    taskTable: (query) => asPromise(db, () => db.transaction(() => taskTable(db, words, query))()),
    jobs: (numbers, fields) =>
      asPromise(db, () => {
        const plan = rowPlan(fields);
        return read(jobsQuery(plan.columns), JSON.stringify(numbers), plan);
      }),
    records: (query: RecordsQuery) =>
      // One transaction, so that the list and its totals are of the same moment.
      asPromise(db, () =>
        db.transaction(() => ({
          records: selectRecords(db, words, query),
          totals: query.totals === false ? noTotals() : totalsOf(db, words, query),
        }))(),
      ),
    pages: (query) => recordPages(db, words, query),
    tables: recordTables(db, words),
    jobLines: (query, wanted) =>
      asPromise(db, () =>
        db.transaction(() => {
          const found = jobLines(db, words, query, wanted);
          return found && { ...found, totals: totalsOf(db, words, query) };
        })(),
      ),
    summary: (query: SummaryQuery) => asPromise(db, () => db.transaction(() => summarise(db, words, query))()),
    running: ({ cluster, since }: RunningQuery) =>
      asPromise(db, () => {
        const id = clusterId(cluster);
        if (id === null) return [];
        return read(runningQuery(id !== undefined), { since, cluster_id: id }).sort(byPlace);
      }),
    nodes: ({ since }) => asPromise(db, () => readStatuses(db, since)),
    close: () => asPromise(db, () => void db.close()),
  };
}

function merging(db: Database, words: Words): AccountingStore['merge'] {
  const stale = staleHours(db);
  const mergeOne = db.transaction(createMerger(db, words, stale));
  /** A record that can't be stored is undone on its own (a savepoint) and leaves the others alone. */
  const mergeOrTell = (record: JobRecord): MergeOutcome => {
    try {
      return mergeOne(record);
    } catch (error) {
      if (isStoreFault(error)) throw error;
      words.forget();
      return { ok: false, error: error instanceof Error ? error.message : 'unknown reason' };
    }
  };
  const mergeAll = db.transaction((records: readonly JobRecord[]) => {
    const outcomes = records.map(mergeOrTell);
    stale.flush();
    return outcomes;
  });
  return (records) =>
    asPromise(db, () => {
      try {
        return mergeAll.immediate(records);
      } catch (error) {
        words.forget();
        stale.forget();
        throw error;
      }
    });
}

/** Opens the SQLite store at `path` for reading. Throws StoreError. */
export function openSqliteReader(path: string): AccountingReader {
  const db = openForReading(path);
  return reader(db, createWords(db));
}

/** The store on an open database. */
export function storeOn(db: Database, words: Words): AccountingStore {
  return {
    ...reader(db, words),
    merge: merging(db, words),
    saveHeartbeat: (status) => asPromise(db, () => putStatus(db, status)),
  };
}

/** Opens the SQLite store at `path` for writing; a missing file is made with permissions `mode`. Throws StoreError. */
export function openSqliteStore(path: string, mode: number): AccountingStore {
  const db = openForWriting(path, mode);
  return storeOn(db, createWords(db));
}

import type { Database } from 'better-sqlite3';
import type { JobRecord, MemorySeries } from '../../sampler/record';
import { arrangeAttempts } from '../attempts';
import { asStored, mergeRecords } from '../merge';
import type { StoredRecord } from '../merge';
import type {
  AccountingReader,
  AccountingStore,
  JobQuery,
  MergeOutcome,
  RecordsQuery,
  Totals,
  RunningQuery,
} from '../store';
import { createWords } from './dictionary';
import type { Words } from './dictionary';
import { isStoreFault, storeError } from './faults';
import { openForReading, openForWriting } from './open';
import {
  FIND_RECORD,
  INSERT_RECORD,
  jobQuery,
  ownerQuery,
  ownerTotals,
  PUT_SERIES,
  runningQuery,
  UPDATE_RECORD,
} from './queries';
import { fromRow, toRow } from './row';
import type { RecordRow } from './row';
import { packRunId } from './run-id-codec';
import { packSeries, unpackSeries } from './series-codec';

const DEFAULT_LIMIT = 50;
const DEFAULT_FAR_BELOW = 0.25;

interface FoundRow extends RecordRow {
  readonly series_start: number | null;
  readonly series_points: Buffer | null;
}

function seriesOf(row: FoundRow): MemorySeries | null {
  return row.series_start === null || row.series_points === null
    ? null
    : unpackSeries(new Date(row.series_start).toISOString(), row.series_points);
}

/** A synchronous step on the database as a promise, its errors as StoreError. */
function answer<T>(db: Database, step: () => T): Promise<T> {
  return new Promise((resolve) => {
    try {
      resolve(step());
    } catch (error) {
      // Thrown here it rejects the promise.
      throw storeError(db.name, error);
    }
  });
}

const NO_TOTALS: Totals = {
  records: 0,
  jobs: 0,
  running: 0,
  requested_gib_hours: 0,
  requested_with_used_gib_hours: 0,
  requested_with_peak_gib_hours: 0,
  used_gib_hours: 0,
  peak_gib_hours: 0,
  cpu_seconds: 0,
  slot_seconds: 0,
  limit_gib_hours: 0,
  energy_joules: 0,
  slot_seconds_with_energy: 0,
  failed: 0,
  killed_by_memory: 0,
  unsampled: 0,
  above_request: 0,
  far_below: 0,
  without_limit: 0,
  without_peak: 0,
  without_used: 0,
};

function byPlace({ record: a }: StoredRecord, { record: b }: StoredRecord): number {
  const text = (x: string, y: string): number => (x < y ? -1 : x > y ? 1 : 0);
  return (
    text(a.cluster, b.cluster) ||
    a.job_id - b.job_id ||
    (a.task_id ?? 0) - (b.task_id ?? 0) ||
    text(a.pe_task_id ?? '', b.pe_task_id ?? '') ||
    text(a.host, b.host)
  );
}

function reader(db: Database, words: Words): AccountingReader {
  /** The cluster's number: undefined where none is asked for, null where the store has none of that name. */
  const clusterId = (cluster: string | undefined): number | null | undefined =>
    cluster === undefined ? undefined : words.find('cluster', cluster);
  return {
    job: (query: JobQuery) =>
      answer(db, () => {
        const cluster = clusterId(query.cluster);
        if (cluster === null) return arrangeAttempts([], query);
        const parameters = { job_id: query.job_id, task_id: query.task_id, cluster_id: cluster };
        const sql = jobQuery({ task: query.task_id !== undefined, cluster: cluster !== undefined });
        const rows = db.prepare<[typeof parameters], FoundRow>(sql).all(parameters);
        return arrangeAttempts(
          rows.map((row) => fromRow(row, seriesOf(row), words)),
          query,
        );
      }),
    records: (query: RecordsQuery) =>
      answer(db, () => {
        const cluster = clusterId(query.cluster);
        const owner = words.find('owner', query.owner ?? '');
        if (cluster === null || owner === null) return { records: [], totals: NO_TOTALS };
        const { since, until, sort = 'time', limit = DEFAULT_LIMIT, far_below = DEFAULT_FAR_BELOW } = query;
        const parameters = { owner_id: owner, cluster_id: cluster, since, until, limit, far_below };
        const byCluster = cluster !== undefined;
        // One transaction: the list and its totals are of the same moment.
        return db.transaction(() => {
          const rows = db.prepare<[typeof parameters], RecordRow>(ownerQuery(sort, byCluster)).all(parameters);
          const totals = db.prepare<[typeof parameters], Totals>(ownerTotals(byCluster)).get(parameters);
          return { records: rows.map((row) => fromRow(row, null, words)), totals: totals ?? NO_TOTALS };
        })();
      }),
    summary: () => Promise.reject(new Error('not yet')),
    running: ({ cluster, since }: RunningQuery) =>
      answer(db, () => {
        const id = clusterId(cluster);
        if (id === null) return [];
        const parameters = { since, cluster_id: id };
        const rows = db.prepare<[typeof parameters], FoundRow>(runningQuery(id !== undefined)).all(parameters);
        return rows.map((row) => fromRow(row, seriesOf(row), words)).sort(byPlace);
      }),
    close: () => answer(db, () => void db.close()),
  };
}

type FoundRecord = FoundRow & { readonly id: number };
type KeyParameters = [number, number | null, string | null, number, number, Buffer | string];

/** Merges one record into its row. */
function createMerger(db: Database, words: Words): (record: JobRecord) => MergeOutcome {
  const find = db.prepare<KeyParameters, FoundRecord>(FIND_RECORD);
  const insert = db.prepare<[RecordRow]>(INSERT_RECORD);
  const update = db.prepare<[RecordRow & { readonly id: number }]>(UPDATE_RECORD);
  const putSeries = db.prepare<[number, number, Buffer]>(PUT_SERIES);
  const storeSeries = (id: number, series: MemorySeries | null): void => {
    if (series !== null) putSeries.run(id, Date.parse(series.start), packSeries(series));
  };
  return (record) => {
    const incoming = asStored(record);
    const row = find.get(
      record.job_id,
      record.task_id,
      record.pe_task_id,
      words.intern('cluster', record.cluster),
      words.intern('host', record.host),
      packRunId(record.run_id),
    );
    if (row === undefined) {
      storeSeries(Number(insert.run(toRow(incoming, words)).lastInsertRowid), record.series);
      return { ok: true, change: 'added' };
    }
    const stored = fromRow(row, seriesOf(row), words);
    const merged: StoredRecord = mergeRecords(stored, incoming);
    if (merged === stored) return { ok: true, change: 'unchanged' };
    update.run({ id: row.id, ...toRow(merged, words) });
    if (merged.record.series !== stored.record.series) storeSeries(row.id, merged.record.series);
    return { ok: true, change: 'changed' };
  };
}

function merging(db: Database, words: Words): AccountingStore['merge'] {
  const mergeOne = db.transaction(createMerger(db, words));
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
  const mergeAll = db.transaction((records: readonly JobRecord[]) => records.map(mergeOrTell));
  return (records) =>
    answer(db, () => {
      try {
        return mergeAll.immediate(records);
      } catch (error) {
        words.forget();
        throw error;
      }
    });
}

/** The SQLite store at `path`, to be read. Throws StoreError. */
export function openSqliteReader(path: string): AccountingReader {
  const db = openForReading(path);
  return reader(db, createWords(db));
}

/** The SQLite store at `path`, to be written; its file is made, with permissions `mode`, where missing. Throws StoreError. */
export function openSqliteStore(path: string, mode: number): AccountingStore {
  const db = openForWriting(path, mode);
  const words = createWords(db);
  return { ...reader(db, words), merge: merging(db, words) };
}

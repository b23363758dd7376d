import type { Database } from 'better-sqlite3';
import type { JobRecord, MemorySeries } from '../../record/record';
import type { Cell } from '../columns';
import { countedAt } from '../../record/facts';
import { isLineOnly, metAnotherLine, SAME_START_MS, startsApart } from '../../record/join';
import { asStored, mergeRecords } from '../../record/merge';
import type { StoredRecord } from '../../record/merge';
import type { MergeOutcome } from '../store';
import type { Words } from './dictionary';
import {
  DELETE_RECORD,
  DELETE_SERIES,
  FIND_RECORD,
  INDEXED_COLUMNS,
  INSERT_RECORD,
  OTHER_COLUMNS,
  PUT_SERIES,
  updateRecord,
} from './queries';
import { columnAt, COLUMN_NAMES, fromRow, toRow, type Row } from './row';
import { readSeries, SERIES_CELLS } from './series';
import type { StaleDays } from './stale-days';

interface Candidate {
  readonly id: number;
  readonly exact: boolean;
  readonly row: Row;
  readonly stored: StoredRecord;
}

const INDEXED = [...INDEXED_COLUMNS].map(columnAt);
const OTHERS = OTHER_COLUMNS.map(columnAt);
/** Of FIND_RECORD: id and `exact`, then the series. */
const ROW_AT = 2 + SERIES_CELLS;

interface Matches {
  /** The row that the record goes into. */
  readonly base: Candidate;
  /** A row that is found to be of the same run, and goes into it as well. */
  readonly absorbed: Candidate | null;
}

/** Which of the rows found are of the run that `record` is of: its own by key, and the nearest one that it joins. */
function matchesOf(record: JobRecord, candidates: readonly Candidate[]): Matches | null {
  const own = candidates.find(({ exact }) => exact) ?? null;
  let joined: Candidate | null = null;
  let nearest = Infinity;
  for (const candidate of candidates) {
    const apart = candidate === own ? null : startsApart(record, candidate.stored.record);
    if (apart === null || apart >= nearest) continue;
    const [ours, line] = isLineOnly(record) ? [candidate, record] : [own, candidate.stored.record];
    if (ours !== null && metAnotherLine(ours.stored.record, line)) continue;
    joined = candidate;
    nearest = apart;
  }
  if (own === null) return joined === null ? null : { base: joined, absorbed: null };
  if (joined === null) return { base: own, absorbed: null };
  return isLineOnly(record) ? { base: joined, absorbed: own } : { base: own, absorbed: joined };
}

/** Under the key of another record of the same run. */
function underKeyOf(stored: StoredRecord, { host, run_id }: JobRecord): StoredRecord {
  return { ...stored, record: { ...stored.record, host, run_id } };
}

/**
 * Merges one record into its row; inside a write transaction. A record of Grid Engine's accounting joins ours of the
 * same run, whichever comes first, and the row then carries our key.
 */
export function createMerger(db: Database, words: Words, stale: StaleDays): (record: JobRecord) => MergeOutcome {
  const find = db.prepare<Record<string, number | string | null>, readonly Cell[]>(FIND_RECORD).raw();
  const insert = db.prepare<Cell[]>(INSERT_RECORD);
  const updateAll = db.prepare<Cell[]>(updateRecord(COLUMN_NAMES));
  const updateOthers = db.prepare<Cell[]>(updateRecord(OTHER_COLUMNS));
  const update = (id: number, before: Row, after: Row): void => {
    const moved = INDEXED.some((at) => before[at] !== after[at]);
    if (moved) updateAll.run(...after, id);
    else updateOthers.run(...OTHERS.map((at) => after[at] ?? null), id);
  };
  const putSeries = db.prepare<[number, number, number, string]>(PUT_SERIES);
  const remove = [DELETE_RECORD, DELETE_SERIES].map((sql) => db.prepare<[number]>(sql));
  const storeSeries = (id: number, series: MemorySeries | null): void => {
    if (series === null) return;
    const { start, step_seconds: step, rss_bytes: points } = series;
    putSeries.run(id, Date.parse(start), Math.round(step * 1000), JSON.stringify(points));
  };
  const touch = (record: JobRecord, clusterId: number): void => {
    const { job_id, task_id, pe, pe_task_id } = record;
    // Grid Engine's accounting always names a parallel environment; a record made without the job's config does not.
    const parallel = pe !== null || pe_task_id !== null || !isLineOnly(record);
    stale.touch({ job_id, task_id, cluster_id: clusterId, counted_at: countedAt(record), parallel });
  };
  return (record) => {
    const incoming = asStored(record);
    const clusterId = words.intern('cluster', record.cluster);
    const started = record.started_at === null ? null : Date.parse(record.started_at);
    const rows = find.all({
      job_id: record.job_id,
      task_id: record.task_id,
      pe_task_id: record.pe_task_id,
      cluster_id: clusterId,
      host_id: words.intern('host', record.host),
      run_id: record.run_id,
      from: started === null ? null : started - SAME_START_MS,
      to: started === null ? null : started + SAME_START_MS,
    });
    const matches = matchesOf(
      record,
      rows.map((cells) => ({
        id: Number(cells[0]),
        exact: cells[1] === 1,
        row: cells.slice(ROW_AT),
        stored: fromRow(cells, ROW_AT, readSeries(cells, 2), words),
      })),
    );
    if (matches === null) {
      storeSeries(Number(insert.run(...toRow(incoming, words)).lastInsertRowid), record.series);
      touch(incoming.record, clusterId);
      return { ok: true, change: 'added' };
    }
    const { base, absorbed } = matches;
    const keyed = isLineOnly(base.stored.record) && !isLineOnly(record);
    const before = keyed ? underKeyOf(base.stored, record) : base.stored;
    const merged = mergeRecords(
      absorbed === null ? before : mergeRecords(before, underKeyOf(absorbed.stored, before.record)),
      incoming,
    );
    if (merged === base.stored && absorbed === null) return { ok: true, change: 'unchanged' };
    if (absorbed !== null) {
      for (const statement of remove) statement.run(absorbed.id);
      touch(absorbed.stored.record, clusterId);
    }
    update(base.id, base.row, toRow(merged, words));
    if (merged.record.series !== base.stored.record.series) storeSeries(base.id, merged.record.series);
    touch(base.stored.record, clusterId);
    touch(merged.record, clusterId);
    return { ok: true, change: 'changed' };
  };
}

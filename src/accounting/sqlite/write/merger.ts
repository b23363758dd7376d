import type { Database } from 'better-sqlite3';
import type { JobRecord, MemorySeries } from '../../../record/record';
import type { Cell } from '../../cell-codec';
import { countedAt } from '../../../record/facts';
import { isLineOnly } from '../../../record/coverage';
import { mergeAmong } from '../../../record/match';
import type { StoredRecord } from '../../../record/merge';
import type { MergeOutcome } from '../../store';
import { bringsRequests, filledTasks } from '../../task-requests';
import type { Words } from '../database/dictionary';
import {
  DELETE_RECORD,
  DELETE_SERIES,
  FIND_PARTS,
  FIND_RECORD,
  INDEXED_COLUMNS,
  INSERT_RECORD,
  OTHER_COLUMNS,
  PUT_SERIES,
  updateRecord,
} from '../read/queries';
import { columnAt, COLUMN_NAMES, fromRow, SERIES_CELLS, seriesCells, toRow, type Row } from '../../row';
import type { StaleHours } from './stale-hours';

interface Candidate {
  readonly id: number;
  readonly row: Row;
  readonly stored: StoredRecord;
}

const INDEXED = [...INDEXED_COLUMNS].map(columnAt);
const OTHERS = OTHER_COLUMNS.map(columnAt);
/** In the rows of FIND_RECORD the record's columns come after the id and the series. */
const ROW_AT = 1 + SERIES_CELLS;

/**
 * A function that merges one record into its row, inside a write transaction. A record of Grid Engine's accounting
 * joins ours of the same run, whichever comes first; the row then carries our key.
 */
export function createMerger(db: Database, words: Words, stale: StaleHours): (record: JobRecord) => MergeOutcome {
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
    if (series !== null) putSeries.run(id, ...seriesCells(series));
  };
  const touch = (record: JobRecord, clusterId: number, ranAgain: boolean): void => {
    const { job_id, task_id, pe, pe_task_id } = record;
    // Grid Engine's accounting always names a parallel environment; a record made without the job's config does not.
    const others = ranAgain || pe !== null || pe_task_id !== null || !isLineOnly(record);
    stale.touch({ job_id, task_id, cluster_id: clusterId, counted_at: countedAt(record), others });
  };
  const findParts = db.prepare<Record<string, number | string | null>, readonly Cell[]>(FIND_PARTS).raw();
  const candidateOf = (cells: readonly Cell[]): Candidate => ({
    id: Number(cells[0]),
    row: cells.slice(ROW_AT),
    stored: fromRow(cells, 1, words),
  });
  /** Passes requests from masters to slave tasks that lack them. */
  const passRequests = ({ job_id, task_id, pe_task_id }: JobRecord, clusterId: number): void => {
    const all = Number(pe_task_id === null);
    const parts = findParts.all({ job_id, task_id, pe_task_id, cluster_id: clusterId, all }).map(candidateOf);
    for (const { task, filled } of filledTasks(parts)) update(task.id, task.row, toRow(filled, words));
  };
  return (record) => {
    const clusterId = words.intern('cluster', record.cluster);
    const rows = find.all({
      job_id: record.job_id,
      task_id: record.task_id,
      pe_task_id: record.pe_task_id,
      cluster_id: clusterId,
    });
    const merged = mergeAmong(record, rows.map(candidateOf));
    if (merged === null) return { ok: true, change: 'unchanged' };
    const { base, absorbed, stored } = merged;
    if (base === null) {
      storeSeries(Number(insert.run(...toRow(stored, words)).lastInsertRowid), record.series);
      touch(stored.record, clusterId, rows.length > 0);
      if (bringsRequests(null, stored)) passRequests(stored.record, clusterId);
      return { ok: true, change: 'added' };
    }
    if (absorbed !== null) {
      for (const statement of remove) statement.run(absorbed.id);
      touch(absorbed.stored.record, clusterId, true);
    }
    update(base.id, base.row, toRow(stored, words));
    if (stored.record.series !== base.stored.record.series) storeSeries(base.id, stored.record.series);
    touch(base.stored.record, clusterId, rows.length > 1);
    touch(stored.record, clusterId, rows.length > 1);
    if (bringsRequests(base.stored, stored)) passRequests(stored.record, clusterId);
    return { ok: true, change: 'changed' };
  };
}

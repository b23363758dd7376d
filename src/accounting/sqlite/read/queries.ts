import { SORTS, type AmountSort } from '../../sorts';
import type { Condition } from './record-filter';
import type { StoredRecord } from '../../../record/merge';
import type { Cell, Column, WordCodec } from '../../cell-codec';
import { ALL_FIELDS, COLUMN_NAMES, fromRow, type RowPlan } from '../../row';

/** The SQL of the store, kept apart from its use, so that a test can ask SQLite for the plan of each statement. */

const rowOf = (columns: readonly Column[]): string => columns.map(({ name }) => `r.${name}`).join(', ');
const ROW = rowOf(ALL_FIELDS.columns);
/** The chart's columns, which `fromRow` reads before the row; the same without the chart. */
const SERIES = 's.start, s.step_ms, s.points';
const NO_SERIES = 'NULL, NULL, NULL';
/** A series and a row as one JSON list, which is read in two thirds of the time of separate cells. */
const jsonRow = (columns: readonly Column[], withSeries: boolean): string =>
  `json_array(${withSeries ? SERIES : NO_SERIES}, ${rowOf(columns)})`;
/** The cells of such a row. */
export const cellsOf = (row: string): readonly Cell[] => JSON.parse(row) as readonly Cell[];
/** The record of such a row. Throws DamagedRecord. */
export const recordIn = (row: string, words: WordCodec, plan?: RowPlan): StoredRecord =>
  fromRow(cellsOf(row), 0, words, plan);
const FROM_RECORD = 'FROM record r';
const WITH_SERIES = 'LEFT JOIN series s ON s.record_id = r.id';

/**
 * In the rows of all queries come first what the query names first, then the series (NULLs if it is not read), then the
 * record. Parameters: @job_id, @task_id, @pe_task_id, @cluster_id.
 */
export const FIND_RECORD = `SELECT r.id, ${SERIES}, ${ROW}
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.job_id = @job_id AND r.task_id IS @task_id AND r.pe_task_id IS @pe_task_id AND r.cluster_id = @cluster_id`;

/**
 * Rows as those of FIND_RECORD, without the series: the records of a job's master, and of its task @pe_task_id or
 * (@all) of all tasks. Other parameters: @job_id, @task_id, @cluster_id.
 */
export const FIND_PARTS = `SELECT r.id, ${NO_SERIES}, ${ROW}
  ${FROM_RECORD}
  WHERE r.job_id = @job_id AND r.task_id IS @task_id AND r.cluster_id = @cluster_id
    AND (@all OR r.pe_task_id IS NULL OR r.pe_task_id = @pe_task_id)`;

/** Parameters: a row. */
export const INSERT_RECORD = `INSERT INTO record (${COLUMN_NAMES.join(', ')}) VALUES (${COLUMN_NAMES.map(() => '?').join(', ')})`;

/** Columns that indexes are made of: an update that leaves them out need not touch the indexes. */
export const INDEXED_COLUMNS: ReadonlySet<string> = new Set([
  'job_id',
  'task_id',
  'pe_task_id',
  'owner_id',
  'submitted_at',
  'started_at',
  'ended_at',
  'status',
  'revision',
]);
export const OTHER_COLUMNS = COLUMN_NAMES.filter((column) => !INDEXED_COLUMNS.has(column));

/** Parameters: the columns in their order, the id. */
export function updateRecord(columns: readonly string[]): string {
  return `UPDATE record SET ${columns.map((column) => `${column} = ?`).join(', ')} WHERE id = ?`;
}

/** Parameters: record, start, step, points. */
export const PUT_SERIES = 'INSERT OR REPLACE INTO series (record_id, start, step_ms, points) VALUES (?, ?, ?, ?)';

/**
 * Rows as those of `pageQuery`. Parameters: @job_id, @task_id, @cluster_id, as far as chosen. `series`: with the charts
 * instead of NULLs.
 */
export function jobQuery(
  by: { readonly task: boolean; readonly cluster: boolean; readonly series: boolean },
  columns: readonly Column[] = ALL_FIELDS.columns,
): string {
  return `SELECT ${jsonRow(columns, by.series)}
  ${FROM_RECORD} ${by.series ? WITH_SERIES : ''}
  WHERE r.job_id = @job_id${by.task ? ' AND r.task_id = @task_id' : ''}${by.cluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

/** Parameter: the job's number. */
export const COUNT_OF_JOB = 'SELECT count(*) FROM record WHERE job_id = ?';

/** Rows as those of `pageQuery`. Parameter: the jobs' numbers, a JSON list. */
export function jobsQuery(columns: readonly Column[]): string {
  return `SELECT ${jsonRow(columns, false)} ${FROM_RECORD} WHERE r.job_id IN (SELECT value FROM json_each(?))`;
}

/**
 * Rows as those of `pageQuery`. Parameters: @since, @cluster_id if chosen. It says `status = 1` literally, as the
 * partial index does: else SQLite would not use that.
 */
export function runningQuery(byCluster: boolean): string {
  return `SELECT ${jsonRow(ALL_FIELDS.columns, true)}
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.status = 1 AND r.revision >= @since${byCluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

export const DELETE_RECORD = 'DELETE FROM record WHERE id = ?';
export const DELETE_SERIES = 'DELETE FROM series WHERE record_id = ?';

/** The number of a change: random, of the 53 bits that a number in JavaScript holds. */
export const CHANGE = 'random() & 9007199254740991';
/** Parameters: @hour, @day. */
export const MARK_STALE = `INSERT OR REPLACE INTO stale_hour SELECT @hour, ${CHANGE}
  WHERE NOT EXISTS (SELECT 1 FROM pruned_day p WHERE p.day = @day)`;

/** Hours with other records of a job. Parameters: @job_id, @task_id, @cluster_id, @from, @to. */
export const MARK_JOB_HOURS = `INSERT OR REPLACE INTO stale_hour
  SELECT r.counted_at / 3600000, ${CHANGE} ${FROM_RECORD}
  WHERE r.job_id = @job_id AND r.task_id IS @task_id AND r.cluster_id = @cluster_id
    AND r.counted_at >= @from AND r.counted_at < @to
    AND NOT EXISTS (SELECT 1 FROM pruned_day p WHERE p.day = r.counted_at / 86400000)`;

export const FIRST_ROLLED_DAY = 'SELECT min(day) FROM rollup WHERE unit = 0';
export const LAST_ROLLED_DAY = 'SELECT max(day) FROM rollup WHERE unit = 0';

/** The records of an interval that a condition selects. */
export function selected(condition: Pick<Condition, 'sql' | 'index'>): string {
  return `FROM record r INDEXED BY ${condition.index}
  WHERE r.counted_at >= @since AND r.counted_at < @until${condition.sql}`;
}

/** Newest first. Parameters: @since, @until, and those of the condition. */
export function idsQuery(condition: Pick<Condition, 'sql' | 'index'>): string {
  return `SELECT r.id ${selected(condition)} ORDER BY r.counted_at DESC, r.id DESC`;
}

/** Rows with the series before them, each a JSON list. Parameter: ids, a JSON list; CROSS JOIN keeps its order. */
export function pageQuery(columns: readonly Column[], withSeries: boolean): string {
  return `SELECT ${jsonRow(columns, withSeries)}
  FROM json_each(?) AS n CROSS JOIN record r ON r.id = n.value ${withSeries ? WITH_SERIES : ''}`;
}

/** Rows as those of `pageQuery`, newest first. Parameters: @since, @until, @limit, and those of the condition. */
export function recordsQuery(condition: Pick<Condition, 'sql' | 'index'>, columns: readonly Column[]): string {
  return `SELECT ${jsonRow(columns, false)} ${selected(condition)} ORDER BY r.counted_at DESC, r.id DESC LIMIT @limit`;
}

/** id, counted_at, amount; largest first, of equal ones the newest. Parameters as for `recordsQuery`. */
export function largestQuery(condition: Pick<Condition, 'sql' | 'index'>, sort: AmountSort): string {
  return `SELECT r.id, r.counted_at, ${SORTS[sort].sql} AS amount ${selected(condition)}
  ORDER BY amount DESC, r.counted_at DESC, r.id DESC LIMIT @limit`;
}

/** For the feed, in the order of the records' numbers. */
export const IDENTITY = 'SELECT id FROM store';
export const NEWEST = "SELECT seq FROM sqlite_sequence WHERE name = 'record'";
/** Parameters: the number before, how many. */
export const NEXT_RECORDS = `SELECT r.id, ${NO_SERIES}, ${ROW} ${FROM_RECORD} WHERE r.id > ? ORDER BY r.id LIMIT ?`;
/** The same with the series. */
export const NEXT_WHOLE = `SELECT r.id, ${SERIES}, ${ROW} ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.id > ? ORDER BY r.id LIMIT ?`;
/** Parameter of both: ids, a JSON list. */
export const STATES_OF = `SELECT r.id, r.status FROM json_each(?) AS n CROSS JOIN record r ON r.id = n.value`;
export const RECORDS_OF = `SELECT r.id, ${NO_SERIES}, ${ROW} FROM json_each(?) AS n CROSS JOIN record r ON r.id = n.value`;

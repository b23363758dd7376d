import { JOB_SPAN_MS } from '../../record/facts';
import type { RecordSort } from '../store';
import { DIMENSIONS } from '../summary';
import type { Dimension } from '../summary';
import { TOTALS_NAMES } from '../../record/totals';
import { JOB_NAME_ID } from './job-name';
import { FAILED } from './record-filter';
import type { Condition } from './record-filter';
import { COLUMN_NAMES } from '../row';

/** The SQL of the store, apart from its use, so that a test can ask SQLite for the plan of each. */

const ROW = COLUMN_NAMES.map((column) => `r.${column}`).join(', ');
/** Of the chart; `readSeries` reads it. */
const SERIES = 's.start, s.step_ms, s.rss_bytes';
const FROM_RECORD = 'FROM record r';
const WITH_SERIES = 'LEFT JOIN series s ON s.record_id = r.id';

/**
 * Rows begin with the series where it is read along (3 columns), before that with what a query names first.
 * Parameters: @job_id, @task_id, @pe_task_id, @cluster_id, @host_id, @run_id; @from, @to: when a record that it may join
 * has started.
 */
export const FIND_RECORD = `SELECT r.id, ${SERIES}, ${ROW}
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.job_id = @job_id AND r.task_id IS @task_id AND r.pe_task_id IS @pe_task_id AND r.cluster_id = @cluster_id
    AND (r.host_id = @host_id AND r.run_id = @run_id OR r.started_at BETWEEN @from AND @to)`;

/** Parameters: a row. */
export const INSERT_RECORD = `INSERT INTO record (${COLUMN_NAMES.join(', ')}) VALUES (${COLUMN_NAMES.map(() => '?').join(', ')})`;

/** Columns that indexes are made of: where they stay as they are, an update need not touch the indexes. */
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
export const PUT_SERIES = 'INSERT OR REPLACE INTO series (record_id, start, step_ms, rss_bytes) VALUES (?, ?, ?, ?)';

/** Parameters: @job_id, @task_id, @cluster_id, as far as chosen. */
export function jobQuery(by: { readonly task: boolean; readonly cluster: boolean }): string {
  return `SELECT ${SERIES}, ${ROW}
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.job_id = @job_id${by.task ? ' AND r.task_id = @task_id' : ''}${by.cluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

/** Parameter: the jobs' numbers, a JSON list. */
export const JOBS = `SELECT ${ROW} ${FROM_RECORD} WHERE r.job_id IN (SELECT value FROM json_each(?))`;

/** Parameters: @since, @cluster_id where chosen. `status = 1` to the letter: the partial index asks for it. */
export function runningQuery(byCluster: boolean): string {
  return `SELECT ${SERIES}, ${ROW}
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.status = 1 AND r.revision >= @since${byCluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

export const DELETE_RECORD = 'DELETE FROM record WHERE id = ?';
export const DELETE_SERIES = 'DELETE FROM series WHERE record_id = ?';

/** Parameter: @day. */
export const MARK_STALE = `INSERT OR IGNORE INTO stale_day SELECT @day
  WHERE NOT EXISTS (SELECT 1 FROM pruned_day p WHERE p.day = @day)`;

/** Days with other records of a job. Parameters: @job_id, @task_id, @cluster_id, @from, @to. */
export const MARK_JOB_DAYS = `INSERT OR IGNORE INTO stale_day
  SELECT DISTINCT r.counted_at / 86400000 ${FROM_RECORD}
  WHERE r.job_id = @job_id AND r.task_id IS @task_id AND r.cluster_id = @cluster_id
    AND r.counted_at >= @from AND r.counted_at < @to
    AND NOT EXISTS (SELECT 1 FROM pruned_day p WHERE p.day = r.counted_at / 86400000)`;

export const LAST_ROLLED_DAY = 'SELECT max(day) FROM rollup WHERE dimension = 0';

/** The records of a time: by the owner's index where there is one owner, else by that of time. */
function selected(condition: Pick<Condition, 'sql' | 'byOwner'>): string {
  return `FROM record r INDEXED BY ${condition.byOwner ? 'record_by_owner' : 'record_by_time'}
  WHERE r.counted_at >= @since AND r.counted_at < @until${condition.sql}`;
}

const SORTS: Readonly<Record<RecordSort, string | null>> = {
  time: null,
  wallclock: 'r.wallclock_ms',
  cpu: 'r.cpu_ms',
  peak: 'r.peak_rss_lower_bytes',
  requested: 'r.requested_bytes * 1.0 * r.wallclock_ms',
  unused: '(r.h_vmem_limit_bytes - r.peak_rss_lower_bytes) * 1.0 * r.wallclock_ms',
};

/** Rows begin with id, counted_at and the value to sort by. Parameters: @since, @until, @limit, and those of the condition. */
export function recordsQuery(condition: Pick<Condition, 'sql' | 'byOwner'>, sort: RecordSort): string {
  const value = SORTS[sort];
  return `SELECT r.id, r.counted_at, ${value ?? 'NULL'} AS sort_value, ${ROW} ${selected(condition)}
  ORDER BY ${value === null ? '' : 'sort_value DESC, '}r.counted_at DESC, r.id DESC LIMIT @limit`;
}

/** What sums count: what the job's owner alone says (trust 3) only where that is asked for. */
const counted = (row: string, claimed = false): string => (claimed ? 'true' : `${row}.trust <> 3`);

const STANDS_FOR_HOST = `CASE WHEN r.pe_task_id IS NULL THEN 1 WHEN r.pe_task_id GLOB '1.*' THEN NOT EXISTS (
      SELECT 1 FROM record m WHERE m.job_id = r.job_id AND m.task_id IS r.task_id AND m.pe_task_id IS NULL
      AND m.host_id = r.host_id AND m.cluster_id = r.cluster_id AND ${counted('m')}
      AND m.counted_at BETWEEN r.counted_at - ${JOB_SPAN_MS} AND r.counted_at + ${JOB_SPAN_MS}) ELSE 0 END`;

/** As `hostSlots` (facts.ts) says; trust 2: Grid Engine's accounting. */
const SLOTS =
  'coalesce(r.host_slots, CASE WHEN r.trust <> 2 THEN 1 WHEN r.pe_task_id IS NULL THEN coalesce(r.slots, 1) ELSE 0 END)';

/** From the lowest bit: runs, ended badly, stands for its host, ended by memory, has samples; then its coverage. */
const FLAGS = `(r.coverage * 32 + r.sampled * 16 + r.killed_by_memory * 8 + (${STANDS_FOR_HOST}) * 4 + ${FAILED} * 2 + (r.status = 1))`;

/** One value per job and array task: a number where it fits, text costs twice the time. As `jobKey` makes it. */
const JOB_KEY = `iif(r.cluster_id < 256 AND r.job_id < 16777216 AND coalesce(r.task_id, 0) < 1048576,
    (r.cluster_id << 44) + (r.job_id << 20) + coalesce(r.task_id, 0), r.cluster_id || '/' || r.job_id || '/' || coalesce(r.task_id, 0))`;

/**
 * What sums need of records, oldest first, in the order of `fact-rows.ts`; of `dimensions` only. Parameters: @since,
 * @until, those of the condition; @after: the id of the last row read so far, which counts at @since; @limit.
 * Each value that is read along costs as much as evaluating the row.
 */
export function factsQuery(condition: Condition, dimensions: readonly Dimension[]): string {
  const column = (name: Dimension): string => (name === 'job_name' ? JOB_NAME_ID : `r.${name}_id`);
  const keys = DIMENSIONS.map((name) => (dimensions.includes(name) ? column(name) : 'NULL'));
  return `SELECT r.id, r.counted_at, r.cluster_id, ${JOB_KEY}, ${keys.join(', ')}, ${FLAGS}, ${SLOTS}, r.wallclock_ms,
    r.cpu_ms, r.h_vmem_limit_bytes, r.requested_bytes, r.peak_rss_lower_bytes, r.rss_byte_seconds, r.energy_joules
  ${selected(condition)} AND ${counted('r', condition.claimed)} AND (r.counted_at > @since OR r.id > @after)
  ORDER BY r.counted_at, r.id LIMIT @limit`;
}

/** Days that are to be read from the records. Parameters: @first, @end. */
export const STALE_DAYS = 'SELECT day FROM stale_day WHERE day >= @first AND day < @end ORDER BY day';

/** Days on which records of a key may be. Parameters: @dimension, @key, @first, @end. */
export const DAYS_OF_KEY = `SELECT day FROM rollup WHERE dimension = @dimension AND key = @key AND day >= @first AND day < @end
  UNION SELECT day FROM stale_day WHERE day >= @first AND day < @end
  UNION SELECT counted_at / 86400000 FROM record
    WHERE trust = 3 AND counted_at >= @first * 86400000 AND counted_at < @end * 86400000
  ORDER BY day`;

/** The jobs of a day that had a record before it. Parameters: @since, @until: the day; @earliest; the condition's. */
export function jobsSeenBefore(condition: Pick<Condition, 'sql' | 'byOwner'>): string {
  return `SELECT DISTINCT r.cluster_id, r.job_id, r.task_id ${selected(condition)} AND ${counted('r')} AND EXISTS (
    SELECT 1 FROM record e WHERE e.job_id = r.job_id AND e.task_id IS r.task_id AND e.cluster_id = r.cluster_id
    AND ${counted('e')}
    AND e.counted_at >= @earliest AND e.counted_at < @day_start)`;
}

/** What a job's records of that time count under, and when the last of each. Parameters: job, task, cluster, from, to. */
export const SEEN_BEFORE = `SELECT r.owner_id, r.project_id, r.queue_id, r.host_id, ${JOB_NAME_ID}, max(r.counted_at)
  ${FROM_RECORD} WHERE r.job_id = ? AND r.task_id IS ? AND r.cluster_id = ? AND r.counted_at >= ? AND r.counted_at < ?
  AND ${counted('r')} GROUP BY 1, 2, 3, 4, 5`;

interface RollUpChoice {
  readonly key: boolean;
  readonly cluster: boolean;
}

function rolled(table: string, { key, cluster }: RollUpChoice): string {
  const index = key && table === 'rollup' ? ' INDEXED BY rollup_by_key' : '';
  return `FROM ${table} u${index} WHERE u.dimension = @dimension AND u.day >= @first AND u.day < @end${key ? ' AND u.key = @key' : ''}${
    cluster ? ' AND u.cluster_id = @cluster' : ''
  } AND NOT EXISTS (SELECT 1 FROM stale_day d WHERE d.day = u.day)`;
}

/** Rows of the roll-up: day, key, cluster, the three lists of bins, then TOTALS_NAMES. Parameters: @dimension, @first, @end, @key, @cluster. */
export function rollUpRows(choice: RollUpChoice): string {
  return `SELECT u.day, u.key, u.cluster_id, u.hours, u.shares, u.coverage, ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')} ${rolled('rollup', choice)}`;
}

/** The same summed by key, without bins. */
export function rollUpByKey(choice: RollUpChoice): string {
  return `SELECT NULL, u.key, NULL, NULL, NULL, NULL, ${TOTALS_NAMES.map((name) => `sum(u.${name})`).join(', ')} ${rolled('rollup', choice)}
  GROUP BY u.key`;
}

/** Jobs that were counted before, in the same interval: key, cluster, how many. Parameters: the same, and @since. */
export function rollUpAgain(choice: RollUpChoice): string {
  return `SELECT u.key, u.cluster_id, count(*) ${rolled('rollup_again', choice)} AND u.before >= @since
  GROUP BY u.key, u.cluster_id`;
}

export const INSERT_ROLLUP = `INSERT INTO rollup (dimension, day, key, cluster_id, hours, shares, coverage, ${TOTALS_NAMES.join(', ')})
  VALUES (?, ?, ?, ?, ?, ?, ?, ${TOTALS_NAMES.map(() => '?').join(', ')})`;
export const INSERT_AGAIN = 'INSERT INTO rollup_again (dimension, day, key, cluster_id, before) VALUES (?, ?, ?, ?, ?)';

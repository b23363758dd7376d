import type { RecordSort } from '../store';
import { ROW_COLUMNS } from './row';

/** The SQL of the store, apart from its use, so that a test can ask SQLite for the plan of each. */

const ROW = ROW_COLUMNS.map((column) => `r.${column}`).join(', ');
const FROM_RECORD = 'FROM record r';
const WITH_SERIES = 'LEFT JOIN series s ON s.record_id = r.id';

/** Parameters: job, task, pe task, cluster, host, run. */
export const FIND_RECORD = `SELECT r.id, ${ROW}, s.start AS series_start, s.points AS series_points
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.job_id = ? AND r.task_id IS ? AND r.pe_task_id IS ? AND r.cluster_id = ? AND r.host_id = ? AND r.run_id = ?`;

export const INSERT_RECORD = `INSERT INTO record (${ROW_COLUMNS.join(', ')})
  VALUES (${ROW_COLUMNS.map((column) => `@${column}`).join(', ')})`;

export const UPDATE_RECORD = `UPDATE record SET ${ROW_COLUMNS.map((column) => `${column} = @${column}`).join(', ')}
  WHERE id = @id`;

/** Parameters: record, start, points. */
export const PUT_SERIES = 'INSERT OR REPLACE INTO series (record_id, start, points) VALUES (?, ?, ?)';

/** Parameters: @job_id, @task_id, @cluster_id, as far as chosen. */
export function jobQuery(by: { readonly task: boolean; readonly cluster: boolean }): string {
  return `SELECT ${ROW}, s.start AS series_start, s.points AS series_points
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.job_id = @job_id${by.task ? ' AND r.task_id = @task_id' : ''}${by.cluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

/** Parameters: @since, @cluster_id where chosen. `status = 1` to the letter: the partial index asks for it. */
export function runningQuery(byCluster: boolean): string {
  return `SELECT ${ROW}, s.start AS series_start, s.points AS series_points
  ${FROM_RECORD} ${WITH_SERIES}
  WHERE r.status = 1 AND r.revision >= @since${byCluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

function ofOwner(byCluster: boolean): string {
  return `${FROM_RECORD}
  WHERE r.owner_id = @owner_id AND r.counted_at >= @since AND r.counted_at < @until${byCluster ? ' AND r.cluster_id = @cluster_id' : ''}`;
}

const REQUESTED = 'r.h_vmem_limit * 1.0 * r.wallclock_ms';

const SORTS: Readonly<Record<RecordSort, string>> = {
  time: '',
  wallclock: 'r.wallclock_ms DESC, ',
  cpu: 'r.cpu_ms DESC, ',
  peak: 'r.peak_rss_lower DESC, ',
  requested: `${REQUESTED} DESC, `,
  unused: '(r.h_vmem_limit - r.peak_rss_lower) * 1.0 * r.wallclock_ms DESC, ',
};

/** Parameters: @owner_id, @since, @until, @limit, @cluster_id where chosen. */
export function ownerQuery(sort: RecordSort, byCluster: boolean): string {
  return `SELECT ${ROW} ${ofOwner(byCluster)} ORDER BY ${SORTS[sort]}r.counted_at DESC, r.id DESC LIMIT @limit`;
}

/** One value per job and array task. Strings cost twice the time, so only array tasks are strings. */
const JOB =
  "iif(r.task_id IS NULL, r.job_id * 65536 + r.cluster_id, r.cluster_id || '/' || r.job_id || '/' || r.task_id)";

/**
 * Records that stand for their hosts. Every task of a parallel job is given its whole host's limit and slots, as the
 * master is: so of each host only one record counts there, the master's, or that of the first task.
 */
const STANDS_FOR_HOST = `(r.pe_task_id IS NULL OR r.pe_task_id GLOB '1.*' AND NOT EXISTS (
      SELECT 1 FROM record m WHERE m.job_id = r.job_id AND m.task_id IS r.task_id AND m.pe_task_id IS NULL
      AND m.host_id = r.host_id AND m.cluster_id = r.cluster_id))`;

/** Bytes x ms in a GiB x h. */
const GIB_HOUR = 2 ** 30 * 3_600_000;

/**
 * Parameters: @owner_id, @since, @until, @far_below, @cluster_id where chosen.
 * total(), not sum(): the sum of integers fails beyond 64 bits.
 */
export function ownerTotals(byCluster: boolean): string {
  return `SELECT
    count(*) AS records,
    count(DISTINCT ${JOB}) AS jobs,
    count(*) FILTER (WHERE r.status = 1) AS running,
    total(${REQUESTED}) FILTER (WHERE ${STANDS_FOR_HOST}) / ${GIB_HOUR} AS requested_gib_hours,
    total(${REQUESTED}) FILTER (WHERE r.rss_byte_seconds IS NOT NULL AND ${STANDS_FOR_HOST}) / ${GIB_HOUR} AS requested_with_used_gib_hours,
    total(${REQUESTED}) FILTER (WHERE r.peak_rss_lower IS NOT NULL AND ${STANDS_FOR_HOST}) / ${GIB_HOUR} AS requested_with_peak_gib_hours,
    total(r.rss_byte_seconds) * 1000 / ${GIB_HOUR} AS used_gib_hours,
    total(r.peak_rss_lower * 1.0 * r.wallclock_ms) / ${GIB_HOUR} AS peak_gib_hours,
    total(r.cpu_ms) / 1000 AS cpu_seconds,
    total(r.wallclock_ms * 1.0 * coalesce(r.host_slots, 1)) FILTER (WHERE ${STANDS_FOR_HOST}) / 1000 AS slot_seconds,
    0 AS limit_gib_hours, 0 AS energy_joules, 0 AS slot_seconds_with_energy, 0 AS failed, 0 AS killed_by_memory, 0 AS unsampled,
    count(*) FILTER (WHERE r.peak_rss_lower > r.h_vmem_limit) AS above_request,
    count(*) FILTER (WHERE r.status <> 1 AND r.peak_rss_lower < @far_below * r.h_vmem_limit) AS far_below,
    count(*) FILTER (WHERE r.h_vmem_limit IS NULL) AS without_limit,
    count(*) FILTER (WHERE r.peak_rss_lower IS NULL) AS without_peak,
    count(*) FILTER (WHERE r.rss_byte_seconds IS NULL) AS without_used
  ${ofOwner(byCluster)}`;
}

import type { JobRecord, MemorySeries, RecordKey } from '../../sampler/record';
import { killedByMemory } from '../cause';
import { COVERAGE_REASONS, coverageReason, isSampled } from '../coverage';
import { chargedEnergy, endedBadly, requestedBytes } from '../facts';
import type { StoredRecord } from '../merge';
import { STATUSES, TRUSTS } from '../../sampler/parse-record';
import { readDetail, wholeMs, writeDetail } from './detail';
import type { Columns } from './detail';
import type { Dictionary, Words } from './dictionary';
import { packRunId, unpackRunId } from './run-id-codec';
import { DamagedRecord } from './damaged-record';

/** A row of the table `record`, less its id. */
export interface RecordRow {
  readonly job_id: number;
  readonly task_id: number | null;
  readonly pe_task_id: string | null;
  readonly cluster_id: number;
  readonly host_id: number;
  readonly run_id: Buffer | string;
  readonly owner_id: number | null;
  readonly job_name_id: number | null;
  readonly queue_id: number | null;
  readonly project_id: number | null;
  readonly pe_id: number | null;
  readonly account_id: number | null;
  readonly slots: number | null;
  readonly host_slots: number | null;
  readonly submitted_at: number | null;
  readonly started_at: number | null;
  readonly ended_at: number | null;
  readonly exit_status: number | null;
  readonly signal: number | null;
  readonly failed: number | null;
  readonly status: number;
  readonly trust: number;
  readonly revision: number;
  readonly h_vmem_limit: number | null;
  readonly peak_rss_lower: number | null;
  readonly wallclock_ms: number | null;
  readonly cpu_ms: number | null;
  readonly rss_byte_seconds: number | null;
  readonly detail: Buffer;
  readonly h_vmem_request: number | null;
  readonly energy: number | null;
  readonly judged: number | null;
}

export const ROW_COLUMNS = [
  'job_id',
  'task_id',
  'pe_task_id',
  'cluster_id',
  'host_id',
  'run_id',
  'owner_id',
  'job_name_id',
  'queue_id',
  'project_id',
  'pe_id',
  'account_id',
  'slots',
  'host_slots',
  'submitted_at',
  'started_at',
  'ended_at',
  'exit_status',
  'signal',
  'failed',
  'status',
  'trust',
  'revision',
  'h_vmem_limit',
  'peak_rss_lower',
  'wallclock_ms',
  'cpu_ms',
  'rss_byte_seconds',
  'detail',
  'h_vmem_request',
  'energy',
  'judged',
] as const satisfies readonly (keyof RecordRow)[];

function toMs(time: string | null): number | null {
  if (time === null) return null;
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new RangeError(`"${time}" is no time`);
  return ms;
}

function toTime(ms: number | null): string | null {
  return ms === null ? null : new Date(ms).toISOString();
}

function columnsOf(record: JobRecord): Columns {
  return {
    host_slots: record.host_slots,
    started_at: record.started_at,
    status: record.status,
    revision: record.revision,
    wallclock_seconds: record.wallclock_seconds,
    cpu_seconds: record.cpu_seconds,
    h_vmem_limit: record.h_vmem?.limit_bytes ?? null,
    peak_rss_lower: record.peak_rss?.lower_bytes ?? null,
  };
}

function milliseconds(seconds: number | null): number | null {
  return seconds === null ? null : (wholeMs(seconds) ?? seconds * 1000);
}

/** What sums need to know of a record that only the whole of it tells: decided once, when it is stored. */
function judge(record: JobRecord): number {
  const killed = endedBadly(record) && killedByMemory(record);
  return 4 * COVERAGE_REASONS.indexOf(coverageReason(record)) + 2 * Number(!isSampled(record)) + Number(killed);
}

/** The row of a record. New strings go to the dictionaries: inside a write transaction only. */
export function toRow(stored: StoredRecord, words: Words): RecordRow {
  const { record } = stored;
  const columns = columnsOf(record);
  const requested = requestedBytes(record);
  const word = (dictionary: Dictionary, text: string | null): number | null =>
    text === null ? null : words.intern(dictionary, text);
  return {
    job_id: record.job_id,
    task_id: record.task_id,
    pe_task_id: record.pe_task_id,
    cluster_id: words.intern('cluster', record.cluster),
    host_id: words.intern('host', record.host),
    run_id: packRunId(record.run_id),
    owner_id: word('owner', record.owner),
    job_name_id: word('job_name', record.job_name),
    queue_id: word('queue', record.queue),
    project_id: word('project', record.project),
    pe_id: word('pe', record.pe),
    account_id: word('account', record.account),
    slots: record.slots,
    host_slots: record.host_slots,
    submitted_at: toMs(record.submitted_at),
    started_at: toMs(record.started_at),
    ended_at: toMs(record.ended_at),
    exit_status: record.exit_status,
    signal: record.signal,
    failed: record.failed,
    status: STATUSES.indexOf(record.status),
    trust: TRUSTS.indexOf(record.trust),
    revision: record.revision,
    h_vmem_limit: columns.h_vmem_limit,
    peak_rss_lower: columns.peak_rss_lower,
    wallclock_ms: milliseconds(record.wallclock_seconds),
    cpu_ms: milliseconds(record.cpu_seconds),
    rss_byte_seconds: record.rss_byte_seconds,
    detail: writeDetail(stored, columns, words),
    h_vmem_request: requested === columns.h_vmem_limit ? null : requested,
    energy: chargedEnergy(record),
    judged: judge(record),
  };
}

/** The record of a row, and its series where that was read along. */
export function fromRow(row: RecordRow, series: MemorySeries | null, words: Words): StoredRecord {
  const word = (dictionary: Dictionary, id: number | null): string | null =>
    id === null ? null : words.text(dictionary, id);
  const status = STATUSES[row.status];
  const trust = TRUSTS[row.trust];
  if (status === undefined || trust === undefined) throw new DamagedRecord('has an unknown status or trust');
  const key: RecordKey = {
    cluster: words.text('cluster', row.cluster_id),
    job_id: row.job_id,
    task_id: row.task_id,
    pe_task_id: row.pe_task_id,
    host: words.text('host', row.host_id),
    run_id: unpackRunId(row.run_id),
  };
  const started = toTime(row.started_at);
  const { ended, provenance, ...detail } = readDetail(
    row.detail,
    {
      host_slots: row.host_slots,
      started_at: started,
      status,
      revision: row.revision,
      wallclock_seconds: row.wallclock_ms === null ? null : row.wallclock_ms / 1000,
      cpu_seconds: row.cpu_ms === null ? null : row.cpu_ms / 1000,
      h_vmem_limit: row.h_vmem_limit,
      peak_rss_lower: row.peak_rss_lower,
    },
    words,
  );
  const { h_vmem, requests, peak_rss, peak_rss_swap, peak_vmem, peak_process_vmem, peak_footprint } = detail;
  return {
    // Field by field: behind a spread each one would make the object grow anew.
    record: {
      cluster: key.cluster,
      job_id: key.job_id,
      task_id: key.task_id,
      pe_task_id: key.pe_task_id,
      host: key.host,
      run_id: key.run_id,
      owner: word('owner', row.owner_id),
      job_name: word('job_name', row.job_name_id),
      queue: word('queue', row.queue_id),
      project: word('project', row.project_id),
      pe: word('pe', row.pe_id),
      account: word('account', row.account_id),
      slots: row.slots,
      host_slots: row.host_slots,
      granted_hosts: detail.granted_hosts,
      submitted_at: toTime(row.submitted_at),
      started_at: started,
      ended_at: toTime(row.ended_at),
      exit_status: row.exit_status,
      signal: row.signal,
      failed: row.failed,
      status,
      trust,
      h_vmem,
      requests,
      peak_rss,
      peak_rss_swap,
      peak_vmem,
      peak_process_vmem,
      peak_footprint,
      wallclock_seconds: detail.wallclock_seconds,
      cpu_seconds: detail.cpu_seconds,
      cpu_efficiency: detail.cpu_efficiency,
      memory_efficiency: detail.memory_efficiency,
      processes: detail.processes,
      max_processes: detail.max_processes,
      max_threads: detail.max_threads,
      read_bytes: detail.read_bytes,
      written_bytes: detail.written_bytes,
      read_chars: detail.read_chars,
      written_chars: detail.written_chars,
      claimed_by_tree_only: detail.claimed_by_tree_only,
      claimed_by_group_only: detail.claimed_by_group_only,
      samples: detail.samples,
      interval_seconds: detail.interval_seconds,
      longest_gap_seconds: detail.longest_gap_seconds,
      unobserved_start_seconds: detail.unobserved_start_seconds,
      rss_byte_seconds: row.rss_byte_seconds,
      sampler: detail.sampler,
      grid_engine: detail.grid_engine,
      metrics: detail.metrics,
      series,
      notes: detail.notes,
      revision: row.revision,
    },
    ended,
    provenance,
  };
}

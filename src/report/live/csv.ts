import type { HostView, JobPart, JobView, PendingView } from '../../live/cluster-view';
import { renderCsvRows, type Cell } from '../records/csv';
import type { HostsReport } from './hosts';
import type { JobsReport } from './jobs';
import { HOST } from './machine-hosts';
import { JOB_ON_HOST, PENDING_JOB, RUNNING_JOB } from './machine-jobs';

/** Columns are a contract: none may be renamed, new ones come last. */
const JOB_COLUMNS = [
  'job_id',
  'task_id',
  'job_name',
  'owner',
  'project',
  'state',
  'queue',
  'hosts',
  'pe',
  'slots',
  'started_at',
  'submitted_at',
  'requests',
  'limit_bytes',
  'limit_state',
  'vmem_bytes',
  'maxvmem_bytes',
  'measure',
  'cpu_seconds',
  'rss_bytes',
  'peak_lower_bytes',
  'peak_upper_bytes',
  'figures_at',
  'share',
  'slope_bytes_per_second',
  'limit_at',
  'limit_at_earliest',
  'limit_at_latest',
  'confidence',
  'limit_complex',
] as const;

const HOST_COLUMNS = [
  'host',
  'up',
  'processors',
  'load',
  'memory_total_bytes',
  'memory_used_bytes',
  'swap_total_bytes',
  'swap_used_bytes',
  'slots',
  'slots_used',
  'capacity_bytes',
  'free_bytes',
  'requested_bytes',
  'peak_bytes',
  'used_bytes',
  'jobs_without_limit',
  'stranded_bytes',
  'stranded_slots',
  'queue_states',
  'capacity_complex',
] as const;

const PART_COLUMNS = [
  'host',
  'job_id',
  'task_id',
  'owner',
  'job_name',
  'master',
  'slots',
  'limit_bytes',
  'limit_state',
  'reserved_bytes',
  'peak_bytes',
  'used_bytes',
  'vmem_bytes',
  'maxvmem_bytes',
  'master_vmem_bytes',
  'master_maxvmem_bytes',
  'tasks',
  'ended_tasks_maxvmem_bytes',
  'rss_bytes',
  'peak_lower_bytes',
  'peak_upper_bytes',
  'figures_at',
] as const;

function cellOf(value: unknown): Cell {
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return value;
  return null;
}

function rowOf(columns: readonly string[], fields: Readonly<Record<string, unknown>>): readonly Cell[] {
  return columns.map((column) => cellOf(fields[column]));
}

/** `h_vmem=4G mem_free=2G(soft)` */
const requestsText = (requests: JobView['requests']): string =>
  requests.map(({ complex, text, kind }) => `${complex}=${text}${kind === 'hard' ? '' : `(${kind})`}`).join(' ');

function jobRow(job: JobView): readonly Cell[] {
  const fields = RUNNING_JOB.fields(job);
  const { trend } = fields as { readonly trend: Readonly<Record<string, unknown>> | null };
  return rowOf(JOB_COLUMNS, {
    ...fields,
    hosts: [...new Set(job.parts.map(({ host }) => host))].join(' '),
    requests: requestsText(job.requests),
    slope_bytes_per_second: trend?.slope_bytes_per_second,
    limit_at: trend?.limit_at,
    limit_at_earliest: trend?.earliest,
    limit_at_latest: trend?.latest,
    confidence: trend?.confidence,
  });
}

/** A waiting job in the columns of the running ones; its tasks stand in `task_id`. */
function pendingRow(job: PendingView): readonly Cell[] {
  return rowOf(JOB_COLUMNS, {
    ...PENDING_JOB.fields(job),
    task_id: job.tasks,
    requests: requestsText(job.requests),
  });
}

/** A line per job, running ones first, the head always. */
export function renderJobsCsv({ jobs, pending }: JobsReport): string {
  return renderCsvRows([JOB_COLUMNS, ...jobs.map(jobRow), ...(pending ?? []).map(pendingRow)]);
}

function hostRow(host: HostView): readonly Cell[] {
  const states = host.queues.filter(({ state }) => state !== '').map(({ name, state }) => `${name}=${state}`);
  return rowOf(HOST_COLUMNS, { ...HOST.fields(host), queue_states: states.join(' ') });
}

function partRow(host: HostView, part: JobPart): readonly Cell[] {
  return rowOf(PART_COLUMNS, {
    ...JOB_ON_HOST.fields(part),
    host: host.name,
    job_id: part.job,
    task_id: part.task,
    owner: part.owner,
    job_name: part.name,
    tasks: part.tasks.map(({ id, maxvmem }) => `${id}=${maxvmem ?? ''}`).join(' '),
  });
}

/** A line per host; with details a line per job on a host instead, in other columns. The head always. */
export function renderHostsCsv({ hosts, details }: HostsReport): string {
  if (!details) return renderCsvRows([HOST_COLUMNS, ...hosts.map(hostRow)]);
  return renderCsvRows([PART_COLUMNS, ...hosts.flatMap((host) => host.parts.map((part) => partRow(host, part)))]);
}

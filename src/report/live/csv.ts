import type { HostView, JobPart, JobView, PendingView } from '../../live/cluster-view';
import { renderCsvRows, type Cell } from '../records/csv';
import type { AnswerObject } from './answer-object';
import type { HostsReport } from './hosts';
import type { JobsReport } from './jobs';
import { HOST, HOST_JOB } from './machine-hosts';
import { PENDING_JOB, RUNNING_JOB } from './machine-jobs';

/**
 * The columns are the members of the JSON, except where `instead` names others. Columns are a contract: none may be
 * renamed, new ones come last.
 */
const columnsOf = (
  { members }: Pick<AnswerObject<never>, 'members'>,
  instead: Readonly<Record<string, readonly string[]>>,
): readonly string[] => members.flatMap((member) => instead[member] ?? [member]);

const JOB_COLUMNS = columnsOf(RUNNING_JOB, {
  uid: [],
  time_limit_seconds: [],
  queue: ['queue', 'hosts'],
  hosts: [],
  trend: ['slope_bytes_per_second', 'limit_at', 'limit_at_earliest', 'limit_at_latest', 'confidence', 'limit_complex'],
  limit_complex: [],
});

const HOST_COLUMNS = columnsOf(HOST, {
  capacity_complex: [],
  queues: ['queue_states', 'capacity_complex'],
  jobs: [],
});

const PART_COLUMNS = ['host', ...columnsOf(HOST_JOB, { trend: [] })];

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

/** CSV with a line per job, running ones first, and always a header. */
export function renderJobsCsv({ jobs, pending }: JobsReport): string {
  return renderCsvRows([JOB_COLUMNS, ...jobs.map(jobRow), ...(pending ?? []).map(pendingRow)]);
}

function hostRow(host: HostView): readonly Cell[] {
  const states = host.queues.filter(({ state }) => state !== '').map(({ name, state }) => `${name}=${state}`);
  return rowOf(HOST_COLUMNS, { ...HOST.fields(host), queue_states: states.join(' ') });
}

function partRow(host: HostView, part: JobPart): readonly Cell[] {
  return rowOf(PART_COLUMNS, {
    ...HOST_JOB.fields(part),
    host: host.name,
    tasks: part.tasks.map(({ id, maxvmem }) => `${id}=${maxvmem ?? ''}`).join(' '),
  });
}

/** CSV with a line per host; with details instead a line per job on a host, in other columns. Always with a header. */
export function renderHostsCsv({ hosts, details }: HostsReport): string {
  if (!details) return renderCsvRows([HOST_COLUMNS, ...hosts.map(hostRow)]);
  return renderCsvRows([PART_COLUMNS, ...hosts.flatMap((host) => host.parts.map((part) => partRow(host, part)))]);
}

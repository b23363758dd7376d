import type {
  ClusterView,
  JobPart,
  JobView,
  OurFigures,
  PendingView,
  RequestView,
  Trend,
} from '../../live/cluster-view';
import { peakOfPart, useOfPart } from '../../live/job-parts';
import { maxvmemOfPart, shareOfJob, vmemOfPart } from './figures';

/**
 * Running and waiting jobs for programs: the published contract (schema 1). Fields may be added, none renamed. Bytes,
 * seconds, ISO 8601 times; null: unknown.
 */

const iso = (at: number | null): string | null => (at === null || !Number.isFinite(at) ? null : isoOf(at));

/** Far beyond the calendar (a trend that hardly rises) there is no date. */
function isoOf(at: number): string | null {
  const date = new Date(at);
  return Number.isNaN(date.getTime()) ? null : date.toISOString();
}

const figures = (ours: OurFigures | null): Readonly<Record<string, unknown>> => ({
  rss_bytes: ours?.rss ?? null,
  peak_lower_bytes: ours?.lower ?? null,
  peak_upper_bytes: ours?.upper ?? null,
  figures_at: iso(ours?.at ?? null),
});

const request = ({ complex, kind, text, bytes }: RequestView): Readonly<Record<string, unknown>> => ({
  complex,
  kind,
  text,
  bytes,
});

const trend = (value: Trend | null): Readonly<Record<string, unknown>> | null =>
  value === null
    ? null
    : {
        slope_bytes_per_second: value.slope,
        over_seconds: value.overSeconds,
        limit_at: iso(value.limitAt),
        earliest: iso(value.earliest),
        latest: iso(value.latest),
        confidence: value.confidence,
      };

/** What a job has on one host; in the list of a host with the job's number, in that of a job without. */
export function partFields(part: JobPart): Readonly<Record<string, unknown>> {
  return {
    master: part.master,
    slots: part.slots,
    limit_bytes: part.limit,
    limit_state: part.limitState,
    reserved_bytes: part.reserved,
    peak_bytes: peakOfPart(part),
    used_bytes: useOfPart(part),
    vmem_bytes: vmemOfPart(part),
    maxvmem_bytes: maxvmemOfPart(part),
    master_vmem_bytes: part.masterVmem,
    master_maxvmem_bytes: part.masterMaxvmem,
    tasks: part.tasks.map(({ id, vmem, maxvmem }) => ({ id, vmem_bytes: vmem, maxvmem_bytes: maxvmem })),
    ended_tasks_maxvmem_bytes: part.pastMaxvmem,
    ...figures(part.ours),
    trend: trend(part.trend),
  };
}

/** A running job. */
export function jobFields(job: JobView): Readonly<Record<string, unknown>> {
  return {
    job_id: job.job,
    task_id: job.task,
    job_name: job.name,
    owner: job.owner,
    uid: job.uid,
    project: job.project,
    state: job.state,
    queue: job.queue,
    pe: job.pe,
    slots: job.slots,
    started_at: iso(job.startedAt),
    submitted_at: iso(job.submittedAt),
    requests: job.requests.map(request),
    limit_bytes: job.limit,
    limit_state: job.limitState,
    vmem_bytes: job.vmem,
    maxvmem_bytes: job.maxvmem,
    measure: job.measure,
    cpu_seconds: job.cpuSeconds,
    ...figures(job.ours),
    share: shareOfJob(job),
    trend: trend(job.trend),
    hosts: job.parts.map((part) => ({ host: part.host, ...partFields(part) })),
  };
}

/** A job that waits. */
export function pendingFields(job: PendingView): Readonly<Record<string, unknown>> {
  return {
    job_id: job.job,
    tasks: job.tasks,
    job_name: job.name,
    owner: job.owner,
    project: job.project,
    state: job.state,
    submitted_at: iso(job.submittedAt),
    slots: job.slots,
    priority: job.priority,
    requests: job.requests.map(request),
  };
}

/** Of what the answer is: cluster, problems, and when each part of it was asked for (`at`: the oldest of qmaster's). */
export function viewFields(view: ClusterView): Readonly<Record<string, unknown>> {
  const { hosts, list, usage, pending, oursOldest, oursNewest } = view.times;
  return {
    schema: 1,
    cluster: view.cluster,
    dialect: view.dialect,
    at: iso(view.at),
    hosts_at: iso(hosts),
    list_at: iso(list),
    usage_at: iso(usage),
    pending_at: iso(pending),
    oldest_figures_at: iso(oursOldest),
    newest_figures_at: iso(oursNewest),
    problems: view.problems,
  };
}

import type { ClusterView, HostView, JobPart, JobView, PendingView } from '../live/cluster-view';
import type { JobAndTask } from './parameter';

/** What of the cluster is asked for; undefined: whatever it is. */
export interface LiveFilter {
  readonly owner?: string | undefined;
  readonly job?: JobAndTask | undefined;
  readonly host?: string | undefined;
  readonly queue?: string | undefined;
  readonly project?: string | undefined;
}

const shortName = (host: string): string => host.split('.')[0] ?? '';

/** The same host, by its full name, or by its short one where only one of both is full. */
function isHost(name: string, wanted: string): boolean {
  const [a, b] = [name.toLowerCase(), wanted.toLowerCase()];
  return a === b || (a.includes('.') !== b.includes('.') && shortName(a) === shortName(b));
}

/** A queue, or one of its instances: `all.q`, `all.q@node01`. */
function isQueue(queue: string, wanted: string): boolean {
  return queue === wanted || queue.split('@')[0] === wanted;
}

function isJob(job: { readonly job: number; readonly task: number | null }, wanted: JobAndTask): boolean {
  return job.job === wanted.job && (wanted.task === null || job.task === wanted.task);
}

const keyOf = ({ job, task }: JobView | JobPart): string => `${job}.${task ?? ''}`;

/**
 * The jobs that fit all of the filter, and the hosts with their parts of them. A host's own figures stay; without a
 * host in the filter those without such a job are left out, too, where jobs are asked for.
 */
export function filterView(view: ClusterView, filter: LiveFilter): ClusterView {
  const { owner, job, host, queue, project } = filter;
  const asksForJobs = [owner, job, queue, project].some((value) => value !== undefined);
  if (!asksForJobs && host === undefined) return view;
  const fits = (item: JobView): boolean =>
    (owner === undefined || item.owner === owner) &&
    (job === undefined || isJob(item, job)) &&
    (project === undefined || item.project === project) &&
    (queue === undefined || isQueue(item.queue, queue)) &&
    (host === undefined || item.parts.some((part) => isHost(part.host, host)));
  const waits = (item: PendingView): boolean =>
    host === undefined &&
    queue === undefined &&
    (owner === undefined || item.owner === owner) &&
    (job === undefined || item.job === job.job) &&
    (project === undefined || item.project === project);
  const jobs = view.jobs.filter(fits);
  const kept = new Set(jobs.map(keyOf));
  const hosts = view.hosts
    .filter(({ name }) => host === undefined || isHost(name, host))
    .map((item): HostView => ({ ...item, parts: item.parts.filter((part) => kept.has(keyOf(part))) }))
    .filter(({ parts }) => !asksForJobs || host !== undefined || parts.length > 0);
  return { ...view, jobs, hosts, pending: view.pending === null ? null : view.pending.filter(waits) };
}

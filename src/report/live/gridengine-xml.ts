import type { QhostHost } from '../../gridengine/qhost/qhost-report';
import { qhostElement } from '../../gridengine/qhost/write-qhost';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import { jobListElement } from '../../gridengine/qstat/write-job-list';
import type { WriteXml } from '../../gridengine/xml/write-xml';
import type { HostView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import type { LiveFilter } from './filter';
import type { JobsReport } from './jobs';
import { queueLists } from './queue-lists';

const keyOf = (job: number, tasks: string | number | null): string => `${job}.${tasks ?? ''}`;

function byKey(rows: readonly ListedJob[]): ReadonlyMap<string, ListedJob> {
  return new Map(rows.map((row) => [keyOf(row.job, row.tasks), row]));
}

/**
 * The XML of `qstat -u '*' -r -ext -urg -xml` for the jobs of a report made from the snapshot. `queues`: with the
 * queues as in `qstat -F`, for the queue instances that this filter lets pass; null: without the queues.
 */
export function renderQstatXml(
  snapshot: Snapshot,
  { jobs, pending }: JobsReport,
  queues: LiveFilter | null,
  write: WriteXml,
): string {
  const running = byKey(snapshot.running.value);
  const waiting = byKey(snapshot.pending?.value ?? []);
  const runs = jobs.flatMap((job) => {
    const row = running.get(keyOf(job.job, job.task));
    return row === undefined ? [] : [{ job, row }];
  });
  return write(
    jobListElement({
      running: runs.map(({ row }) => row),
      pending: (pending ?? []).flatMap(({ job, tasks }) => waiting.get(keyOf(job, tasks)) ?? []),
      queues: queues === null ? null : queueLists(snapshot.hosts.value, runs, queues),
    }),
  );
}

/**
 * The XML of `qhost -F -q -j -xml` for hosts chosen from a view of the snapshot, each with the jobs that the view still
 * has there.
 */
export function renderQhostXml(snapshot: Snapshot, chosen: readonly HostView[], write: WriteXml): string {
  const reports = new Map(snapshot.hosts.value.map((host) => [host.name, host]));
  const hosts = chosen.flatMap(({ name, parts }): QhostHost[] => {
    const host = reports.get(name);
    if (host === undefined) return [];
    const shown = new Set(parts.map(({ job, task }) => keyOf(job, task)));
    return [{ ...host, jobs: host.jobs.filter(({ job, task }) => shown.has(keyOf(job, task))) }];
  });
  return write(qhostElement(hosts));
}

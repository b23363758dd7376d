import type { QhostHost, QhostJob } from '../../gridengine/qhost/qhost-report';
import type { ListedJob } from '../../gridengine/qstat/job-list';
import type { ListedQueue } from '../../gridengine/qstat/write-job-list';
import type { JobPart, JobView } from '../../live/cluster-view';
import { isHost, isQueue, type LiveFilter } from './filter';

/** A chosen running job, and qstat's row for it. */
interface ListedRun {
  readonly job: JobView;
  readonly row: ListedJob;
}

/** The queue instance of a job; where qhost names none, its queue on that host. */
const instanceOf = ({ queueInstance, queue }: QhostJob, host: string): string =>
  queueInstance === '' ? `${queue}@${host}` : queueInstance;

/**
 * The slots that a job has in each queue instance of a host. qhost has a row for each slot, and for some PEs one more
 * for the master task, which takes no slot: then the rows are one more than the slots.
 */
function slotsByInstance(part: JobPart, host: QhostHost | undefined, queue: string): ReadonlyMap<string, number> {
  const rows = host?.jobs.filter(({ job, task }) => job === part.job && task === part.task) ?? [];
  if (rows.length === 0) return new Map([[`${queue}@${part.host}`, part.slots]]);
  const extra = rows.length === part.slots + 1 ? rows.find(({ role }) => role === 'MASTER') : undefined;
  const slots = new Map<string, number>();
  for (const row of rows) {
    const instance = instanceOf(row, part.host);
    slots.set(instance, (slots.get(instance) ?? 0) + (row === extra ? 0 : 1));
  }
  return slots;
}

function jobsByInstance(
  runs: readonly ListedRun[],
  hosts: ReadonlyMap<string, QhostHost>,
): ReadonlyMap<string, readonly ListedJob[]> {
  const jobs = new Map<string, ListedJob[]>();
  for (const { job, row } of runs)
    for (const part of job.parts)
      for (const [instance, slots] of slotsByInstance(part, hosts.get(part.host), job.queue)) {
        const there = { ...row, slots };
        const known = jobs.get(instance);
        if (known === undefined) jobs.set(instance, [there]);
        else known.push(there);
      }
  return jobs;
}

const unlisted = (name: string): Omit<ListedQueue, 'jobs'> => ({
  name,
  type: null,
  slotsUsed: null,
  slotsReserved: null,
  slots: null,
  load: null,
  architecture: null,
  state: '',
  resources: [],
});

/**
 * The queue instances of the hosts and queues that are asked for, with the chosen jobs in each. Instances that only
 * jobs name come last.
 */
export function queueLists(
  hosts: readonly QhostHost[],
  runs: readonly ListedRun[],
  { host: hostPatterns, queue: queuePatterns }: Pick<LiveFilter, 'host' | 'queue'>,
): readonly ListedQueue[] {
  const isAsked = (queue: string, host: string): boolean =>
    (hostPatterns.length === 0 || hostPatterns.some((pattern) => isHost(host, pattern))) &&
    (queuePatterns.length === 0 || queuePatterns.some((pattern) => isQueue(queue, [host], pattern)));
  const jobs = jobsByInstance(runs, new Map(hosts.map((host) => [host.name, host])));
  const lists = new Map<string, ListedQueue>();
  for (const { name: host, load, architecture, resources, queues } of hosts)
    for (const { name: queue, type, slotsUsed, slotsReserved, slots, state } of queues) {
      const name = `${queue}@${host}`;
      // qstat prints these for the queue itself, qhost does not.
      const own = [
        { name: 'qname', dominance: 'qf', value: queue },
        { name: 'hostname', dominance: 'qf', value: host },
      ];
      const list = { name, type, slotsUsed, slotsReserved, slots, load, architecture, state };
      if (isAsked(queue, host))
        lists.set(name, { ...list, resources: [...resources, ...own], jobs: jobs.get(name) ?? [] });
    }
  for (const [name, there] of jobs) {
    const [queue = '', host = ''] = name.split('@');
    if (!lists.has(name) && isAsked(queue, host)) lists.set(name, { ...unlisted(name), jobs: there });
  }
  return [...lists.values()];
}

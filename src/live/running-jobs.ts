import type { QhostJob } from '../gridengine/qhost/qhost-report';
import type { JobDetail, TaskDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob } from '../gridengine/qstat/job-list';
import { hostOfQueue, type HostNames } from '../gridengine/host-names';
import type { Snapshot } from './snapshot';

/** All that qmaster's answers say about one running job or array task. */
export interface RunningJob {
  readonly job: number;
  /** null: not an array job. */
  readonly task: number | null;
  /** null: only qhost lists the job. */
  readonly listed: ListedJob | null;
  /** Granted slots; null: unknown. */
  readonly granted: number | null;
  readonly detail: JobDetail | null;
  readonly taskDetail: TaskDetail | null;
  /** qhost's rows for the job, by host. */
  readonly rows: ReadonlyMap<string, readonly QhostJob[]>;
  /** The hosts where it runs by qstat, the master host first. */
  readonly listedHosts: readonly string[];
}

interface Gathered {
  readonly job: number;
  readonly task: number | null;
  readonly listed: ListedJob[];
  readonly rows: Map<string, QhostJob[]>;
}

/**
 * Joins the answers by job and task, ordered by both. As the answers are from different times, a job that is only in
 * the list or only in qhost's answer counts, too; `qstat -j`, asked least often, only adds facts to these jobs.
 */
export function runningJobs(
  { hosts, running, details }: Pick<Snapshot, 'hosts' | 'running' | 'details'>,
  nameOf: HostNames,
): readonly RunningJob[] {
  const gathered = new Map<string, Gathered>();
  const at = (job: number, task: number | null): Gathered => {
    const key = `${job}.${task ?? ''}`;
    const known = gathered.get(key) ?? { job, task, listed: [], rows: new Map<string, QhostJob[]>() };
    gathered.set(key, known);
    return known;
  };
  for (const row of running.value) at(row.job, taskOf(row.tasks)).listed.push(row);
  for (const host of hosts.value) {
    for (const row of host.jobs) {
      const { rows } = at(row.job, row.task);
      const name = nameOf(host.name);
      const known = rows.get(name);
      if (known === undefined) rows.set(name, [row]);
      else known.push(row);
    }
  }
  const detailOf = new Map(details.value.map((detail) => [detail.job, { detail, tasks: tasksOf(detail) }]));
  return [...gathered.values()]
    .sort((a, b) => a.job - b.job || (a.task ?? 0) - (b.task ?? 0))
    .map((job) => join(job, detailOf.get(job.job) ?? null, nameOf));
}

/** A job's detail with its tasks by number, as an array job may have very many. */
interface KnownDetail {
  readonly detail: JobDetail;
  readonly tasks: ReadonlyMap<number, TaskDetail>;
}

function tasksOf({ tasks }: JobDetail): KnownDetail['tasks'] {
  return new Map(tasks.map((task) => [task.task, task]));
}

/** The task of a row: a running task has a row of its own, so the first number suffices. */
function taskOf(tasks: string | null): number | null {
  const first = /\d+/.exec(tasks ?? '')?.[0];
  return first === undefined ? null : Number(first);
}

function join({ job, task, listed, rows }: Gathered, known: KnownDetail | null, nameOf: HostNames): RunningJob {
  const row = listed.find(({ role }) => role === 'MASTER') ?? listed[0] ?? null;
  const ordered = row === null ? listed : [row, ...listed];
  const hosts = ordered.flatMap(({ queueInstance }) => hostOfQueue(queueInstance) ?? []).map(nameOf);
  return {
    job,
    task,
    listed: row,
    // With one row for each slot or host (`-g t`), no row has the sum.
    granted: listed.length === 1 && row?.slots != null && row.slots > 0 ? row.slots : null,
    detail: known?.detail ?? null,
    taskDetail: known?.tasks.get(task ?? 1) ?? null,
    rows,
    listedHosts: [...new Set(hosts)],
  };
}

import type { RecordKey } from './record';

/**
 * Cluster names for what `qmemacct run` and `qmemacct demo` measure without Grid Engine, under job numbers of their
 * own. No cluster can have such a name: Grid Engine's begin with a letter, a digit or `_`.
 */
const PRIVATE = { run: '(run)', demo: '(demo)' } as const;

type PrivateWorld = keyof typeof PRIVATE;

const WORLDS: readonly PrivateWorld[] = ['run', 'demo'];

export const PRIVATE_CLUSTERS: readonly string[] = Object.values(PRIVATE);

export function privateCluster(world: PrivateWorld): string {
  return PRIVATE[world];
}

/** The command that gave a record its job number; null: a real cluster did. */
export function privateWorld(cluster: string): PrivateWorld | null {
  return WORLDS.find((world) => PRIVATE[world] === cluster) ?? null;
}

/** "4711" for a cluster's job, "run-7" for a private one, which can't be mistaken for a job number. */
export function jobName({ cluster, job_id: job }: Pick<RecordKey, 'cluster' | 'job_id'>): string {
  const world = privateWorld(cluster);
  return world === null ? String(job) : `${world}-${job}`;
}

/** "4711", "4711.3", "run-7". */
export function jobTaskName(key: Pick<RecordKey, 'cluster' | 'job_id' | 'task_id'>): string {
  return `${jobName(key)}${key.task_id === null ? '' : `.${key.task_id}`}`;
}

/** Whether the limits in a record were really set: `qmemacct run` only compares with them. */
export function limitsHold({ cluster }: Pick<RecordKey, 'cluster'>): boolean {
  return privateWorld(cluster) !== 'run';
}

import type { RecordKey } from './record';

/**
 * Clusters that are none: what `qmemacct run` and `qmemacct demo` measure without Grid Engine has numbers of its own. No
 * cluster can have such a name: Grid Engine's begin with a letter, a digit or `_`.
 */
const PRIVATE = { run: '(run)', demo: '(demo)' } as const;

type PrivateWorld = keyof typeof PRIVATE;

const WORLDS: readonly PrivateWorld[] = ['run', 'demo'];

export const PRIVATE_CLUSTERS: readonly string[] = Object.values(PRIVATE);

export function privateCluster(world: PrivateWorld): string {
  return PRIVATE[world];
}

/** Whose numbers a record has; null: a cluster's. */
export function privateWorld(cluster: string): PrivateWorld | null {
  return WORLDS.find((world) => PRIVATE[world] === cluster) ?? null;
}

/** "4711" of a cluster's job, "run-7" of a private one: a name that no job number can be. */
export function jobName({ cluster, job_id: job }: Pick<RecordKey, 'cluster' | 'job_id'>): string {
  const world = privateWorld(cluster);
  return world === null ? String(job) : `${world}-${job}`;
}

/** "4711", "4711.3", "run-7". */
export function jobTaskName(key: Pick<RecordKey, 'cluster' | 'job_id' | 'task_id'>): string {
  return `${jobName(key)}${key.task_id === null ? '' : `.${key.task_id}`}`;
}

/** Whether the limits that a record names were set: `qmemacct run` only compares with them. */
export function limitsHold({ cluster }: Pick<RecordKey, 'cluster'>): boolean {
  return privateWorld(cluster) !== 'run';
}

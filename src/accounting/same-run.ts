/** What begins the run_id of a record that stands for a line of the accounting file and has not met a sampler's. */
const LINE_RUN = 'accounting.';
/** Grid Engine's start is the shepherd's, in whole seconds; ours is the job's. */
const START_TOLERANCE_MS = 2000;

export function isLineRun(runId: string): boolean {
  return runId.startsWith(LINE_RUN);
}

/** Without its domain where one of them has none: the same host may be told with and without. */
export function sameHost(a: string, b: string): boolean {
  if (a === b) return true;
  const dotA = a.indexOf('.');
  const dotB = b.indexOf('.');
  if (dotA >= 0 && dotB >= 0) return a.toLowerCase() === b.toLowerCase();
  const short = (host: string, dot: number): string => (dot < 0 ? host : host.slice(0, dot)).toLowerCase();
  return short(a, dotA) === short(b, dotB);
}

/** What of a record tells which run it is of; those compared are of one cluster, job and task. */
export interface RunFacts {
  readonly run_id: string;
  readonly pe_task_id: string | null;
  readonly host: string;
  readonly owner: string | null;
  /** ms since the epoch. */
  readonly started_at: number | null;
}

/** How far apart two accounts of what may be the same run begin (ms); null: they are of different runs. */
function distance(a: RunFacts, b: RunFacts): number | null {
  if (a.started_at === null || b.started_at === null) return null;
  const apart = Math.abs(a.started_at - b.started_at);
  if (apart > START_TOLERANCE_MS || a.pe_task_id !== b.pe_task_id || !sameHost(a.host, b.host)) return null;
  return a.owner === null || b.owner === null || a.owner === b.owner ? apart : null;
}

/**
 * Which of `present` is the run that `incoming` tells of, where one of them is of a sampler and the other a line of
 * the accounting file; null: none. `isTaken`: that one has met its line already. Two lines, or two records of
 * samplers, are of one run only where their run_id is the same: that is looked for first.
 */
export function findRun<T extends RunFacts>(
  incoming: RunFacts,
  present: readonly T[],
  isTaken: (candidate: T) => boolean,
): T | null {
  const same = present.find(
    ({ run_id, pe_task_id, host }) =>
      run_id === incoming.run_id && pe_task_id === incoming.pe_task_id && sameHost(host, incoming.host),
  );
  if (same !== undefined) return same;
  let nearest: T | null = null;
  let least = Infinity;
  for (const candidate of present) {
    if (isLineRun(candidate.run_id) === isLineRun(incoming.run_id)) continue;
    const apart = distance(candidate, incoming);
    if (apart === null || apart >= least || isTaken(candidate)) continue;
    nearest = candidate;
    least = apart;
  }
  return nearest;
}

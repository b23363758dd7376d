import type { PollTools } from './poller';

/** Who holds a job: its owner (`qsub -h`, `qhold`), an operator or a manager. */
export const HOLDS = ['user', 'operator', 'system'] as const;
export type Hold = (typeof HOLDS)[number];

const SELECTED: Readonly<Record<Hold, string>> = { user: 'hu', operator: 'ho', system: 'hs' };

/**
 * The kinds of hold on a user's jobs, by job; qstat's state letters show only that there is a hold. A kind that qmaster
 * does not answer for is left out. Never rejects.
 */
export async function holdsOf(
  owner: string,
  { run, readers }: Pick<PollTools, 'run' | 'readers'>,
  signal?: AbortSignal,
): Promise<ReadonlyMap<number, readonly Hold[]>> {
  const holds = new Map<number, Hold[]>();
  for (const hold of HOLDS) {
    const jobs = new Set<number>();
    const reader = readers.jobList(({ job }) => jobs.add(job));
    const { problem } = await run('qstat', ['-u', owner, '-s', SELECTED[hold], '-xml'], reader, signal);
    if (problem !== null) continue;
    for (const job of jobs) holds.set(job, [...(holds.get(job) ?? []), hold]);
  }
  return holds;
}

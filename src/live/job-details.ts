import type { JobDetail, SchedulerReason } from '../gridengine/qstat/job-detail';
import type { PollTools } from './poller';

/** The answer of `qstat -j` about some jobs. */
export interface JobDetails {
  readonly jobs: readonly JobDetail[];
  /** The scheduler's reasons why jobs wait, if it gives them. */
  readonly reasons: readonly SchedulerReason[];
  readonly problem: string | null;
  readonly tookMs: number;
  readonly unreachable: boolean;
}

/** Jobs may end between two tries, but not so often in a row. */
const MOST_TRIES = 4;

const STRANGE = 'qstat -j names unknown jobs that nobody asked for; it is asked again';

/**
 * Runs `qstat -j`. Jobs that have ended meanwhile are no error; but if one job is unknown, some dialects say nothing
 * about the others, which are then asked for again. Never rejects.
 */
export async function jobDetails(
  ids: readonly number[],
  tools: Pick<PollTools, 'run' | 'readers'>,
  signal?: AbortSignal,
): Promise<JobDetails> {
  let left = ids;
  let tookMs = 0;
  const nothing = { jobs: [], reasons: [] };
  for (let tries = 0; tries < MOST_TRIES && left.length > 0; tries++) {
    const jobs: JobDetail[] = [];
    const reasons: SchedulerReason[] = [];
    const answer = await tools.run(
      'qstat',
      ['-j', left.join(','), '-xml'],
      tools.readers.jobDetails(
        (job) => jobs.push(job),
        (reason) => reasons.push(reason),
      ),
      signal,
    );
    tookMs += answer.tookMs;
    const { problem, unreachable } = answer;
    if (problem !== null) return { ...nothing, problem, tookMs, unreachable };
    const unknown = new Set(answer.end.unknownJobs);
    if (unknown.size === 0 || jobs.length > 0) return { jobs, reasons, problem: null, tookMs, unreachable: false };
    const rest = left.filter((id) => !unknown.has(String(id)));
    if (rest.length === left.length) return { ...nothing, problem: STRANGE, tookMs, unreachable: false };
    left = rest;
  }
  return { ...nothing, problem: null, tookMs, unreachable: false };
}

import { holdsOf } from '../../live/holds';
import { jobDetails } from '../../live/job-details';
import type { Snapshot } from '../../live/snapshot';
import { listedRows, unfinishedJob, type JobOrTask, type UnfinishedJob } from '../../live/unfinished-job';
import { reasonOf } from '../../base/user-error';
import { RequestRules } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import type { LiveSources } from '../live/sources';
import { NOBODY_ASKED, type AskedJobs } from './may-be-unfinished';

/** How many calls of qstat and qhost the time limit allows for: the lists, and details of the jobs. */
const QUESTIONS = 6;

function listedAt({ running, pending }: Snapshot): number | null {
  const at = pending?.at ?? null;
  return running.at === null || at === null ? null : Math.min(running.at, at);
}

const problemOf = ({ running, pending }: Snapshot): string | null => running.problem ?? pending?.problem ?? null;

/** The jobs and tasks among `asked` that Grid Engine lists: waiting, or running without a record. Never rejects. */
export async function askUnfinished(
  asked: readonly JobOrTask[],
  settings: Settings,
  live: LiveSources,
  now: Date,
): Promise<AskedJobs> {
  const signal = AbortSignal.timeout(QUESTIONS * settings.command_timeout * 1000);
  try {
    const { snapshot } = await live.snapshot(settings, {
      pending: true,
      queries: ['running', 'hosts', 'pending'],
      signal,
    });
    const listed = asked.filter((one) => listedRows(snapshot, one).length > 0);
    if (listed.length === 0) return { jobs: [], problem: problemOf(snapshot), listedAt: listedAt(snapshot) };
    const tools = await live.tools(settings);
    const details = await jobDetails([...new Set(listed.map(({ job }) => job))], tools, signal);
    const options = { rules: new RequestRules(settings), nowMs: now.getTime() };
    const jobs: UnfinishedJob[] = [];
    for (const one of listed) {
      const held = listedRows(snapshot, one).find(({ state }) => state.includes('h'));
      const holds = held === undefined ? null : await holdsOf(held.owner, tools, signal);
      const job = unfinishedJob(one, snapshot, { details, holds: holds?.get(one.job) ?? [] }, options);
      if (job !== null) jobs.push(job);
    }
    return { jobs, problem: null, listedAt: listedAt(snapshot) };
  } catch (error) {
    return { ...NOBODY_ASKED, problem: reasonOf(error) };
  }
}

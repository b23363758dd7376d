import type { AccountingReader } from '../../accounting/store';
import { groupBy } from '../../base/group-by';
import type { JobRecord } from '../../record/record';
import type { ClusterFacts } from './cluster-facts';

/** A job with records of ended runs, and what decides whether the whole job is over. */
export interface EndedJob {
  readonly cluster: string;
  readonly job: number;
  readonly submittedAt: string;
  /** ms */
  readonly lastEnd: number;
  /** More may come although nothing of it runs now: another array task, or another run after a reschedule. */
  readonly mayGoOn: boolean;
  /** Grid Engine's accounting line has been read for every record. */
  readonly isAccounted: boolean;
}

const MOST_RECORDS = 5000;

const RESCHEDULED: ReadonlySet<number | null> = new Set([24, 25]);

const mayGoOn = ({ task_id, exit_status, failed }: JobRecord): boolean =>
  task_id !== null || exit_status === 99 || RESCHEDULED.has(failed);

/** The jobs of an owner that ended from `since` to `now` (ms), the latest first. Rejects with StoreError. */
export async function endedJobs(
  owner: string,
  since: number,
  now: number,
  reader: AccountingReader,
): Promise<readonly EndedJob[]> {
  const { records } = await reader.records({
    owner,
    since,
    until: now + 1,
    states: ['finished', 'unsampled', 'lost'],
    limit: MOST_RECORDS,
    totals: false,
    fields: ['cluster', 'job_id', 'task_id', 'submitted_at', 'ended_at', 'exit_status', 'failed'],
  });
  const ofJob = ({ cluster, job_id, submitted_at }: JobRecord): string => `${cluster} ${job_id} ${submitted_at ?? ''}`;
  const jobs = groupBy(
    records.map(({ record }) => record),
    ofJob,
  );
  return [...jobs.values()].flatMap((parts) => {
    const [first] = parts;
    if (first === undefined) return [];
    return {
      cluster: first.cluster,
      job: first.job_id,
      submittedAt: first.submitted_at ?? '',
      lastEnd: parts.reduce((last, { ended_at: at }) => Math.max(last, Date.parse(at ?? '') || 0), 0),
      mayGoOn: parts.some(mayGoOn),
      isAccounted: parts.every(({ failed }) => failed !== null),
    };
  });
}

/** Grid Engine writes its accounting lines late; without the line, the cause of a bad end may be missing. */
const LINE_PATIENCE_MS = 60_000;
/** A job is taken to be over after this time without news if Grid Engine can't be asked for waiting jobs. */
const QUIET_MS = 600_000;

/**
 * Whether a job is over: no more of it will come. "ask": the list of waiting jobs is needed to tell. `facts` null: Grid
 * Engine can't be asked.
 */
export function stateOfJob(job: EndedJob, facts: ClusterFacts | null, now: number): 'over' | 'open' | 'ask' {
  const quiet = now - job.lastEnd;
  if (!job.isAccounted && quiet < LINE_PATIENCE_MS) return 'open';
  if (facts?.cluster !== job.cluster) return (job.isAccounted && !job.mayGoOn) || quiet >= QUIET_MS ? 'over' : 'open';
  if (facts.listed.has(job.job) || facts.at < job.lastEnd) return 'open';
  return job.mayGoOn && !facts.withPending ? 'ask' : 'over';
}

import type { Database } from 'better-sqlite3';
import { JOB_SPAN_MS } from '../../record/facts';
import { jobKey } from './fact-rows';
import type { FactRow, JobKey, Span } from './fact-rows';
import { jobsSeenBefore, SEEN_BEFORE } from './queries';
import { prepared } from './prepared';
import type { Condition } from './record-filter';

/** An earlier record of a job: what it counts under, and when (the last, of those that count under the same). */
interface Earlier {
  readonly cluster: number;
  readonly job: JobKey;
  readonly keys: FactRow['keys'];
  readonly at: number;
}

/**
 * Earlier records of the jobs that a condition selects in a part of one day: those of the days before it, since
 * `earliest` at most. Few jobs have any: re-runs, and parallel ones whose tasks end on both sides of midnight.
 */
export function seenBefore(
  db: Database,
  condition: Condition,
  part: Span,
  dayStart: number,
  earliest: number,
): Earlier[] {
  const from = Math.max(earliest, dayStart - JOB_SPAN_MS);
  if (from >= dayStart) return [];
  const jobs = prepared<object, [number, number, number | null]>(db, jobsSeenBefore(condition), 'raw').all({
    ...condition.parameters,
    ...part,
    earliest: from,
    day_start: dayStart,
  });
  type Before = [number | null, number | null, number | null, number, number | null, number];
  const before = prepared<unknown[], Before>(db, SEEN_BEFORE, 'raw');
  return jobs.flatMap(([cluster, job, task]) =>
    before.all(job, task, cluster, from, dayStart).map(([owner, project, queue, host, name, at]) => ({
      cluster,
      job: jobKey(cluster, job, task),
      keys: [owner, project, queue, host, name],
      at,
    })),
  );
}

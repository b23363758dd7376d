import type { Database } from 'better-sqlite3';
import { JOB_SPAN_MS } from '../../../record/facts';
import { DAY_MS } from '../../sums/periods';
import { LAST_ROLLED_DAY, MARK_JOB_DAYS, MARK_STALE } from '../read/queries';

/** Whose sums a change touches. */
interface Touched {
  readonly job_id: number;
  readonly task_id: number | null;
  readonly cluster_id: number;
  readonly counted_at: number;
  /** The record may be of a parallel job: what the others of it add to sums may depend on it. */
  readonly parallel: boolean;
}

export interface StaleDays {
  /** A record counts at that time now, or did so before. */
  readonly touch: (touched: Touched) => void;
  /** At the end of each transaction. */
  readonly flush: () => void;
  /** After a rollback. */
  readonly forget: () => void;
}

/**
 * Marks the days whose sums no longer hold, in the transaction that changes their records. Other days with records of
 * the same job are touched only where they may have been summed up by now: later ones, of which the sums say which jobs
 * had been counted before; and all of a parallel job's, since the master's record takes over from its tasks' ones.
 */
export function staleDays(db: Database): StaleDays {
  const mark = db.prepare<{ day: number }>(MARK_STALE);
  const markJob = db.prepare<Record<string, number | null>>(MARK_JOB_DAYS);
  const lastRolled = db.prepare<[], number | null>(LAST_ROLLED_DAY).pluck();
  const days = new Set<number>();
  const jobs = new Set<string>();
  let rolled: number | null | undefined;
  const forget = (): void => {
    days.clear();
    jobs.clear();
    rolled = undefined;
  };
  return {
    touch: ({ job_id, task_id, cluster_id, counted_at, parallel }) => {
      const day = Math.floor(counted_at / DAY_MS);
      days.add(day);
      if (rolled === undefined) rolled = lastRolled.get() ?? null;
      if (rolled === null || (day >= rolled && !parallel) || day > rolled + JOB_SPAN_MS / DAY_MS) return;
      const job = `${job_id}/${task_id ?? ''}/${cluster_id}/${day}`;
      if (jobs.has(job)) return;
      jobs.add(job);
      markJob.run({
        job_id,
        task_id,
        cluster_id,
        from: parallel ? day * DAY_MS - JOB_SPAN_MS : (day + 1) * DAY_MS,
        to: (day + 1) * DAY_MS + JOB_SPAN_MS,
      });
    },
    flush: () => {
      for (const day of days) mark.run({ day });
      forget();
    },
    forget,
  };
}

import type { Database } from 'better-sqlite3';
import { DAY_MS } from '../../../base/units';
import { JOB_SPAN_MS } from '../../../record/facts';
import { dayOf, hourOf, HOURS_OF_DAY } from '../../sums/periods';
import { LAST_ROLLED_DAY, MARK_JOB_HOURS, MARK_STALE } from '../read/queries';

/** A record whose change makes sums out of date. */
interface Touched {
  readonly job_id: number;
  readonly task_id: number | null;
  readonly cluster_id: number;
  readonly counted_at: number;
  /** The job may have other records, whose part in sums depends on this one: it is parallel, or ran again. */
  readonly others: boolean;
}

export interface StaleHours {
  /** A record counts at `counted_at` now, or did so before. */
  readonly touch: (touched: Touched) => void;
  /** Call it at the end of each transaction. */
  readonly flush: () => void;
  /** Call it after a rollback. */
  readonly forget: () => void;
}

/**
 * Marks the hours whose sums are out of date, in the transaction that changes their records. Other hours with records
 * of the same job are marked only if they may have been summed up by now: those of later days, whose sums say which
 * jobs had been counted before; and all hours of a parallel job, since the master's record takes over from its tasks'
 * records. Readers keep nothing of the hours for which this does not look at others (`CHANGED_HOURS`).
 */
export function staleHours(db: Database): StaleHours {
  const mark = db.prepare<{ hour: number; day: number }>(MARK_STALE);
  const markJob = db.prepare<Record<string, number | null>>(MARK_JOB_HOURS);
  const lastRolled = db.prepare<[], number | null>(LAST_ROLLED_DAY).pluck();
  const hours = new Set<number>();
  const jobs = new Set<string>();
  let rolled: number | null | undefined;
  const forget = (): void => {
    hours.clear();
    jobs.clear();
    rolled = undefined;
  };
  return {
    touch: ({ job_id, task_id, cluster_id, counted_at, others }) => {
      const day = dayOf(counted_at);
      hours.add(hourOf(counted_at));
      if (rolled === undefined) rolled = lastRolled.get() ?? null;
      if (rolled === null || (day >= rolled && !others) || day > rolled + JOB_SPAN_MS / DAY_MS) return;
      const job = `${job_id}/${task_id ?? ''}/${cluster_id}/${day}`;
      if (jobs.has(job)) return;
      jobs.add(job);
      markJob.run({
        job_id,
        task_id,
        cluster_id,
        from: others ? day * DAY_MS - JOB_SPAN_MS : (day + 1) * DAY_MS,
        to: (day + 1) * DAY_MS + JOB_SPAN_MS,
      });
    },
    flush: () => {
      for (const hour of hours) mark.run({ hour, day: Math.floor(hour / HOURS_OF_DAY) });
      forget();
    },
    forget,
  };
}

import type { Database } from 'better-sqlite3';
import type { SummaryQuery } from '../summary';
import { DEFAULT_FAR_BELOW, SHARE_STEPS, stepsOf } from '../../record/sums';
import type { Span } from './fact-rows';
import { prepared } from './prepared';
import { STALE_DAYS } from './queries';
import type { Condition } from './record-filter';
import { daysOfKey, inSpans } from './spans';
import { DAY_MS } from './stale-days';

/** Which of the days of an interval have sums that hold, and which parts of it are to be read. */
export interface Plan {
  readonly first: number;
  readonly end: number;
  readonly read: readonly Span[];
  readonly rolled: boolean;
}

export function planOf(db: Database, query: SummaryQuery, condition: Condition): Plan {
  const { since, until } = query;
  const { dimension, plain } = condition;
  const nothing = { first: 0, end: 0, read: daysOfKey(db, condition, { since, until }), rolled: false };
  const groups = dimension === null || query.by === 'day' || query.by === 'cluster' || query.by === dimension.name;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  if (!plain || !groups || !Number.isInteger(steps) || steps > SHARE_STEPS) return nothing;
  const first = Math.ceil(since / DAY_MS);
  const end = Math.floor(until / DAY_MS);
  if (first >= end) return nothing;
  const stale = prepared<object, number>(db, STALE_DAYS, 'pluck').all({ first, end });
  return {
    first,
    end,
    read: inSpans([
      { since, until: first * DAY_MS },
      ...stale.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
      { since: end * DAY_MS, until },
    ]),
    rolled: stale.length < end - first,
  };
}

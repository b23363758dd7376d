import type { Database } from 'better-sqlite3';
import { DAY_MS, type Span } from '../../sums/periods';
import { groupingSet } from '../../sums/grouping-sets';
import { prepared } from '../database/prepared';
import type { Condition } from './record-filter';
import { DAYS_OF_KEY } from '../sums/rolled-rows';

/** Spans in their order, those that touch as one, without the empty ones. */
export function inSpans(parts: readonly Span[]): readonly Span[] {
  const spans: Span[] = [];
  for (const { since, until } of parts) {
    const last = spans.at(-1);
    if (since >= until) continue;
    if (last?.until === since) spans[spans.length - 1] = { since: last.since, until };
    else spans.push({ since, until });
  }
  return spans;
}

/** The parts of an interval in which there may be records that a condition selects: days, by the roll-ups. */
export function daysOfKey(db: Database, condition: Condition, interval: Span): readonly Span[] {
  const { sparse, index } = condition;
  const { since, until } = interval;
  if (sparse === null || index !== 'record_by_time' || until - since <= DAY_MS) return inSpans([interval]);
  const days = prepared<object, number>(db, DAYS_OF_KEY, 'pluck').all({
    dimension: groupingSet(new Set([sparse.name])),
    key: sparse.id,
    first: Math.floor(since / DAY_MS),
    end: Math.ceil(until / DAY_MS),
  });
  return inSpans(
    days.map((day) => ({ since: Math.max(since, day * DAY_MS), until: Math.min(until, (day + 1) * DAY_MS) })),
  );
}

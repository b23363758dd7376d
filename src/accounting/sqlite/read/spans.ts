import type { Database } from 'better-sqlite3';
import { DAY_MS, type Span } from '../../sums/periods';
import { groupingSet } from '../../sums/grouping-sets';
import { prepared } from '../database/prepared';
import { DAYS_OF_KEY, hasKind } from '../sums/rolled-rows';
import type { Condition } from './record-filter';

/** Of no roll-up: only the days that have none may have such records. */
const NO_KEY = { dimension: 0, key: -1 };

/** The key of roll-ups by which the days are found on which there may be records; null: there is none. */
function keyOf(db: Database, { sparse, kind, index }: Condition): { dimension: number | null; key: number } | null {
  if (kind !== null && index === 'record_by_owner') return hasKind(db, kind) ? null : NO_KEY;
  if (sparse === null || index !== 'record_by_time') return null;
  return { dimension: groupingSet(new Set([sparse.name])), key: sparse.id };
}

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
  const { since, until } = interval;
  const key = until - since <= DAY_MS ? null : keyOf(db, condition);
  if (key === null) return inSpans([interval]);
  const days = prepared<object, number>(db, DAYS_OF_KEY, 'pluck').all({
    ...key,
    first: Math.floor(since / DAY_MS),
    end: Math.ceil(until / DAY_MS),
  });
  return inSpans(
    days.map((day) => ({ since: Math.max(since, day * DAY_MS), until: Math.min(until, (day + 1) * DAY_MS) })),
  );
}

import type { Database } from 'better-sqlite3';
import { DAY_MS } from '../../../base/units';
import { inSpans, type Span } from '../../sums/periods';
import { groupingSet } from '../../sums/grouping-sets';
import { prepared } from '../database/prepared';
import { DAYS_OF_KEY, DAYS_OF_KINDS, kindsLike } from '../sums/rolled-rows';
import { FIRST_ROLLED_DAY, LAST_ROLLED_DAY } from './queries';
import type { Condition, NamedKind } from './record-filter';

/** If a name fits more name classes than this, its jobs may be on any day. */
const MOST_KINDS = 100;
/** Days of name classes that are looked up at once: a query for the newest jobs mostly needs no more. */
const DAYS_AT_ONCE = 32;

interface DaysOfKey {
  /** Days on which there may be records, newest first, from `first` to before `end`. */
  readonly between: (first: number, end: number) => readonly number[];
  /** Between these days only DAYS_AT_ONCE are looked up at once. */
  readonly stepped: readonly [first: number, end: number];
}

function daysOfKinds(db: Database, kind: NamedKind): DaysOfKey | null {
  const { dimension, keys } = kindsLike(db, kind, MOST_KINDS + 1);
  if (keys.length > MOST_KINDS) return null;
  const begin = prepared<[], number | null>(db, FIRST_ROLLED_DAY, 'pluck').get() ?? 0;
  const over = (prepared<[], number | null>(db, LAST_ROLLED_DAY, 'pluck').get() ?? -1) + 1;
  const statement = prepared<object, number>(db, DAYS_OF_KINDS, 'pluck');
  return {
    stepped: [begin, over],
    between: (first, end) => {
      const from = Math.max(first, begin);
      const days = Array.from({ length: Math.max(0, Math.min(end, over) - from) }, (_day, index) => from + index);
      return statement.all({ dimension, keys: JSON.stringify(keys), days: JSON.stringify(days), first, end });
    },
  };
}

/** null: there may be records on any day. */
function daysOf(db: Database, { sparse, kind, index }: Condition): DaysOfKey | null {
  if (index === 'record_by_job') return null;
  if (sparse === null || index === 'record_by_owner') return kind && daysOfKinds(db, kind);
  const key = { dimension: groupingSet(new Set([sparse.name])), key: sparse.id };
  const statement = prepared<object, number>(db, DAYS_OF_KEY, 'pluck');
  return { stepped: [0, 0], between: (first, end) => statement.all({ ...key, first, end }) };
}

/** The first of the days that are looked up together with the day before `end`. */
function stepBefore(end: number, [first, over]: DaysOfKey['stepped']): number {
  if (end > over) return over;
  return end > first ? Math.max(first, end - DAYS_AT_ONCE) : -Infinity;
}

/**
 * The parts of an interval, newest first, in which there may be records that a condition selects: days, which are
 * looked up in the roll-ups as they are asked for.
 */
export function* daysOfKey(db: Database, condition: Condition, { since, until }: Span): Generator<Span> {
  const days = until - since <= DAY_MS ? null : daysOf(db, condition);
  if (days === null) {
    yield* inSpans([{ since, until }]);
    return;
  }
  const begin = Math.floor(since / DAY_MS);
  for (let end = Math.ceil(until / DAY_MS); end > begin;) {
    const first = Math.max(begin, stepBefore(end, days.stepped));
    const found = days.between(first, end).map((day) => ({
      since: Math.max(since, day * DAY_MS),
      until: Math.min(until, (day + 1) * DAY_MS),
    }));
    yield* inSpans(found.toReversed()).toReversed();
    end = first;
  }
}

import { DAY_MS } from '../../base/units';
import { isHostPattern } from '../filter-record';
import { DIMENSIONS, type Dimension, type SummaryQuery } from '../summary';
import { zoneOffset } from '../summary-answer';
import { groupingSet, groupKey, GROUPING_SETS, keyOf } from './grouping-sets';
import { periodEnd, periodStart, UNITS, type Period, type Span } from './periods';

/** What a query, of a list's totals too, may hold beside dimensions, and be answered from roll-ups. */
const BESIDE: ReadonlySet<string> = new Set([
  ...['since', 'until', 'cluster', 'by', 'sort', 'limit', 'fields', 'totals'],
]);

/** A query that roll-ups can answer, apart from the ends of its interval. */
export interface RolledQuery {
  /** The grouping set of the dimensions that are filtered by. */
  readonly set: number;
  /** Its key; null: none is filtered by. */
  readonly key: string | null;
  /** That of the groups, within `key`; null: those of `set` itself are asked for, or no dimension's. */
  readonly groups: number | null;
  /** Whole days: from `first` to before `end`; none: both are the day after the first one. */
  readonly first: number;
  readonly end: number;
}

/** null: only the records can answer it. */
export function rolledQuery(query: SummaryQuery): RolledQuery | null {
  const { since, until, by, host } = query;
  const filtered = new Set<Dimension>();
  for (const [name, value] of Object.entries(query)) {
    if (value === undefined || BESIDE.has(name) || (name === 'self_reported' && value === false)) continue;
    const dimension = DIMENSIONS.find((one) => one === name);
    // A name is not all of its class.
    if (dimension === undefined || dimension === 'job_name') return null;
    filtered.add(dimension);
  }
  if (host !== undefined && isHostPattern(host)) return null;
  const first = Math.ceil(since / DAY_MS);
  const end = Math.max(first, Math.floor(until / DAY_MS));
  const set = groupingSet(filtered);
  if (set === null) return null;
  const values = DIMENSIONS.map((name) => (query[name] === undefined ? null : groupKey(name, query[name])));
  const asked = { set, key: keyOf(set, values), groups: null, first, end };
  if (by === 'day' || by === 'cluster') return asked;
  if (filtered.has(by)) return GROUPING_SETS[set]?.at(-1) === by ? asked : null;
  const groups = groupingSet(new Set([...filtered, by]), by);
  return groups === null ? null : { ...asked, groups };
}

/** What of the days of a `RolledQuery` is summed up. */
export interface RolledState {
  /** Days whose sums do not hold: their records are read. In order. */
  readonly staleDays: readonly number[];
  /** Days, months and years that have been summed up. */
  readonly periods: readonly Period[];
}

/** Where the parts of an answer come from. */
export interface SumPlan {
  /** To be read record by record; where roll-ups answer the rest, each part is within one day. */
  readonly parts: readonly Span[];
  readonly rolled: RolledPlan | null;
}

interface RolledPlan {
  /** As in RolledQuery. */
  readonly set: number;
  readonly key: string | null;
  /** To be read with bins, of `set` and `key`. */
  readonly periods: readonly Period[];
  /** The groups, where they are of another grouping set. */
  readonly groups: { readonly set: number; readonly periods: readonly Period[] } | null;
}

/** Whether a period's hours of the day are the same in local time for all its days. */
function hasOneOffset(period: Period): boolean {
  return zoneOffset(period.day) === zoneOffset(periodEnd(period) - 1);
}

/**
 * Days in the largest periods that are summed up and `fit`, without those that are stale. Days of which nothing is kept
 * are not looked at: an interval may be thousands of years.
 */
function periodsOf({ first, end }: RolledQuery, state: RolledState, fit: (period: Period) => boolean): Period[] {
  const stale = new Set(UNITS.flatMap((unit) => state.staleDays.map((day) => `${unit} ${periodStart(unit, day)}`)));
  const holding = state.periods
    .filter((period) => !stale.has(`${period.unit} ${period.day}`) && (period.unit === 'day' || fit(period)))
    .filter((period) => period.day >= first && periodEnd(period) <= end)
    .sort((a, b) => a.day - b.day || periodEnd(b) - periodEnd(a));
  const chosen: Period[] = [];
  let next = first;
  for (const period of holding) {
    if (period.day < next) continue;
    chosen.push(period);
    next = periodEnd(period);
  }
  return chosen;
}

/** How to answer a query. `state` null: from the records alone. */
export function planOf(query: SummaryQuery, rolled: RolledQuery | null, state: RolledState | null): SumPlan {
  const { since, until, by } = query;
  const nothingRolled: SumPlan = { parts: [{ since, until }], rolled: null };
  if (rolled === null || state === null) return nothingRolled;
  const { first, end, set, key, groups } = rolled;
  // Of a longer time of which nothing is summed up nothing is kept either.
  if (end - first > 1 && state.staleDays.length >= end - first) return nothingRolled;
  const parts = [
    { since, until: Math.min(first * DAY_MS, until) },
    ...state.staleDays.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
    { since: Math.max(since, end * DAY_MS), until },
  ].filter((part) => part.since < part.until);
  // Years have no bins, and a day is in one period only.
  const periods = periodsOf(rolled, state, (it) => by !== 'day' && it.unit === 'month' && hasOneOffset(it));
  if (groups === null) return { parts, rolled: { set, key, periods, groups } };
  const ofGroups = periodsOf(rolled, state, () => true);
  return { parts, rolled: { set, key, periods, groups: { set: groups, periods: ofGroups } } };
}

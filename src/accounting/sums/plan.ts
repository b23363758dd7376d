import { DAY_MS } from '../../base/units';
import { isHostPattern } from '../filter-record';
import { DIMENSIONS, type Dimension, type SummaryQuery } from '../summary';
import { zoneOffset } from '../summary-answer';
import { groupingSet, groupKey, GROUPING_SETS, keyOf } from './grouping-sets';
import { dayOf, periodEnd, periodStart, UNITS, type Period, type Span } from './periods';

/** Members, beside dimensions, of queries (also for a list's totals) that can be answered from roll-ups. */
const BESIDE: ReadonlySet<string> = new Set([
  ...['since', 'until', 'cluster', 'by', 'sort', 'limit', 'fields', 'totals'],
]);

/** A query that roll-ups can answer, apart from the ends of its interval. */
export interface RolledQuery {
  /** The grouping set of the dimensions that the query filters by. */
  readonly set: number;
  /** The key in `set` that it asks for; null: it filters by no dimension. */
  readonly key: string | null;
  /** The grouping set of the groups within `key`; null: it asks for the groups of `set`, or groups by no dimension. */
  readonly groups: number | null;
  /** Whole days in the interval, from `first` to before `end`; both are equal if there is none. */
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
    // Roll-ups know only the class of a name.
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

/**
 * The interval of a query that roll-ups answer. Of `pruned` days only sums of the whole day are left: an end in one of
 * them moves to the nearer end of that day, so that adjoining intervals count it once.
 */
export function byWholePrunedDays<Query extends Span>(query: Query, pruned: readonly number[]): Query {
  const moved = (at: number): number => (pruned.includes(dayOf(at)) ? Math.round(at / DAY_MS) * DAY_MS : at);
  return { ...query, since: moved(query.since), until: moved(query.until) };
}

/** How far the days of a `RolledQuery` are summed up. */
export interface RolledState {
  /** Days whose sums are out of date or missing, in order: their records are read. */
  readonly staleDays: readonly number[];
  /** Days, months and years that have been summed up. */
  readonly periods: readonly Period[];
}

/** Where the parts of an answer come from. */
export interface SumPlan {
  /** What is read record by record; if roll-ups answer the rest, each part is within one day. */
  readonly parts: readonly Span[];
  readonly rolled: RolledPlan | null;
}

interface RolledPlan {
  /** As in RolledQuery. */
  readonly set: number;
  readonly key: string | null;
  /** Periods of which `set` and `key` are read, with bins. */
  readonly periods: readonly Period[];
  /** The groups, if they are of another grouping set. */
  readonly groups: { readonly set: number; readonly periods: readonly Period[] } | null;
}

/** Whether a period's hours of the day are the same in local time for all its days. */
function hasOneOffset(period: Period): boolean {
  return zoneOffset(period.day, 0) === zoneOffset(periodEnd(period) - 1, 23);
}

/**
 * The days of a query in the largest periods that are summed up and `fit`, without stale days. The loop is over stored
 * periods, not over days: an interval may be thousands of years.
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
  // If no day of a longer interval is summed up, no hours are kept either.
  if (end - first > 1 && state.staleDays.length >= end - first) return nothingRolled;
  const parts = [
    { since, until: Math.min(first * DAY_MS, until) },
    ...state.staleDays.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
    { since: Math.max(since, end * DAY_MS), until },
  ].filter((part) => part.since < part.until);
  // Years have no bins; grouped by day, only days will do.
  const periods = periodsOf(rolled, state, (it) => by !== 'day' && it.unit === 'month' && hasOneOffset(it));
  if (groups === null) return { parts, rolled: { set, key, periods, groups } };
  const ofGroups = periodsOf(rolled, state, () => true);
  return { parts, rolled: { set, key, periods, groups: { set: groups, periods: ofGroups } } };
}

import { DEFAULT_FAR_BELOW, SHARE_STEPS, stepsOf } from '../../record/sums';
import { isHostPattern } from '../filter-record';
import { DIMENSIONS, type Dimension, type SummaryQuery } from '../summary';
import { zoneOffset } from '../summary-answer';
import { DAY_MS, periodEnd, periodStart, type Period, type Span, type Unit } from './periods';

/** What a query, of a list's totals too, may hold beside one dimension, and be answered from roll-ups. */
const BESIDE: ReadonlySet<string> = new Set([
  ...['since', 'until', 'cluster', 'by', 'sort', 'limit', 'far_below'],
  ...['fields', 'totals'],
]);

/** A query that roll-ups can answer, apart from the ends of its interval. */
export interface RolledQuery {
  /** The one dimension that is filtered by; null: none. */
  readonly dimension: Dimension | null;
  readonly value: string | null;
  /** Whole days: from `first` to before `end`. */
  readonly first: number;
  readonly end: number;
}

/** null: only the records can answer it. */
export function rolledQuery(query: SummaryQuery): RolledQuery | null {
  const { since, until, by } = query;
  const [asked, ...more] = Object.entries(query).filter(
    ([name, value]) => value !== undefined && !BESIDE.has(name) && !(name === 'claimed' && value === false),
  );
  const dimension = DIMENSIONS.find((name) => name === asked?.[0] && name !== 'job_name') ?? null;
  const value = asked === undefined ? null : String(asked[1]);
  if (more.length > 0 || (asked !== undefined && dimension === null)) return null;
  if (dimension === 'host' && value !== null && isHostPattern(value)) return null;
  if (dimension !== null && by !== 'day' && by !== 'cluster' && by !== dimension) return null;
  const steps = stepsOf(query.far_below ?? DEFAULT_FAR_BELOW);
  if (!Number.isInteger(steps) || steps > SHARE_STEPS) return null;
  const first = Math.ceil(since / DAY_MS);
  const end = Math.floor(until / DAY_MS);
  return first < end ? { dimension, value, first, end } : null;
}

/** What of the days of a `RolledQuery` is summed up. */
export interface RolledState {
  /** Days whose sums do not hold: their records are read. In order. */
  readonly staleDays: readonly number[];
  /** Months and years that have been made of their days. */
  readonly periods: readonly Period[];
}

/** Where the parts of an answer come from. */
export interface SumPlan {
  /** To be read record by record; where roll-ups answer the rest, each part is within one day. */
  readonly parts: readonly Span[];
  readonly rolled: RolledPlan | null;
}

interface RolledPlan {
  readonly dimension: Dimension | null;
  readonly value: string | null;
  /** To be read with bins, of the filter's own dimension and value. */
  readonly periods: readonly Period[];
  /** The groups, where they are of another dimension. */
  readonly groups: { readonly by: Dimension; readonly periods: readonly Period[] } | null;
}

/** Whether a period's hours of the day are the same in local time for all its days. */
function hasOneOffset(period: Period): boolean {
  return zoneOffset(period.day) === zoneOffset(periodEnd(period) - 1);
}

/** Days in the largest periods that are summed up and `fit`, without those that are stale. */
function periodsOf({ first, end }: RolledQuery, state: RolledState, fit: (period: Period) => boolean): Period[] {
  const stale = new Set(state.staleDays);
  const holding = new Set(state.periods.filter(fit).map(({ unit, day }) => `${unit} ${day}`));
  for (const day of stale)
    for (const unit of ['month', 'year'] as const) holding.delete(`${unit} ${periodStart(unit, day)}`);
  const chosen: Period[] = [];
  for (let day = first; day < end;) {
    const larger = (['year', 'month'] as const).find(
      (unit: Unit) => holding.has(`${unit} ${day}`) && periodEnd({ unit, day }) <= end,
    );
    const period: Period = { unit: larger ?? 'day', day };
    if (larger !== undefined || !stale.has(day)) chosen.push(period);
    day = periodEnd(period);
  }
  return chosen;
}

/** How to answer a query. `state` null: from the records alone. */
export function planOf(query: SummaryQuery, rolled: RolledQuery | null, state: RolledState | null): SumPlan {
  const { since, until, by, far_below } = query;
  const nothingRolled: SumPlan = { parts: [{ since, until }], rolled: null };
  if (rolled === null || state === null) return nothingRolled;
  const { first, end, dimension, value } = rolled;
  if (state.staleDays.length >= end - first) return nothingRolled;
  const parts = [
    { since, until: first * DAY_MS },
    ...state.staleDays.map((day) => ({ since: day * DAY_MS, until: (day + 1) * DAY_MS })),
    { since: end * DAY_MS, until },
  ].filter((part) => part.since < part.until);
  // Years have no bins, and a day is in one period only.
  const periods = periodsOf(rolled, state, (it) => by !== 'day' && it.unit === 'month' && hasOneOffset(it));
  if (by === 'day' || by === 'cluster' || dimension !== null)
    return { parts, rolled: { dimension, value, periods, groups: null } };
  const needsBins = stepsOf(far_below ?? DEFAULT_FAR_BELOW) !== stepsOf(DEFAULT_FAR_BELOW);
  const ofGroups = periodsOf(rolled, state, ({ unit }) => unit === 'month' || !needsBins);
  return { parts, rolled: { dimension, value, periods, groups: { by, periods: ofGroups } } };
}

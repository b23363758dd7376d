import { inSpans, type Span } from '../../accounting/sums/periods';
import { DAY_MS } from '../../base/units';
import type { Totals } from '../../record/totals';

/** What a day (UTC) weighs, and how many records it has. */
export interface DayWeight {
  /** ISO date. */
  readonly day: string;
  readonly weight: number;
  readonly records: number;
}

export interface HeavyDays {
  /** In order of time, adjacent days as one span; empty: no day has any weight. */
  readonly spans: readonly Span[];
  /** The chosen days; null: the spans cover every day that has any weight. */
  readonly days: readonly string[] | null;
}

/** A summary by day as weights. */
export function dayWeights(
  groups: readonly { readonly key: string | null; readonly totals: Totals }[],
  weightOf: (totals: Totals) => number,
): DayWeight[] {
  return groups.flatMap(({ key, totals }) =>
    key === null || Number.isNaN(Date.parse(key))
      ? []
      : [{ day: key.slice(0, 10), weight: weightOf(totals), records: totals.records }],
  );
}

/** Each day, unless it adjoins another, is a query of its own to the store. */
const MOST_DAYS = 3;

/**
 * The days to search for single jobs: the whole period if it has no more than `budget` records, else its heaviest days,
 * at least one and at most three, with no more than `budget` records together. A list of the largest jobs thus costs
 * the same for a month of ten million jobs as for a day.
 */
export function heavyDays(weights: readonly DayWeight[], period: Span, budget: number): HeavyDays {
  const candidates = weights.filter(({ weight }) => weight > 0).sort((a, b) => b.weight - a.weight);
  if (candidates.length === 0) return { spans: [], days: null };
  if (weights.reduce((sum, day) => sum + day.records, 0) <= budget) return { spans: [period], days: null };

  const chosen: string[] = [];
  let room = budget;
  for (const { day, records } of candidates) {
    if (chosen.length === MOST_DAYS || (chosen.length > 0 && records > room)) continue;
    chosen.push(day);
    room -= records;
  }
  const parts = chosen.sort().map((day) => {
    const begin = Date.parse(day);
    return { since: Math.max(period.since, begin), until: Math.min(period.until, begin + DAY_MS) };
  });
  return { spans: inSpans(parts), days: chosen.length === candidates.length ? null : chosen };
}

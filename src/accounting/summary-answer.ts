import { DAY_MS, HOUR_MS } from '../base/units';
import { COVERAGE_REASONS, type CoverageReason } from '../record/coverage';
import { compareText } from './by-place';
import type { HourOfDay, SummaryAnswer, SummaryGroup, SummaryQuery } from './summary';
import type { Bins } from '../record/sums';
import type { Totals } from '../record/totals';

/** Sums of an interval, before they are put in order. The hours are of the local time zone. */
interface RawSummary extends Bins {
  readonly groups: readonly SummaryGroup[];
  readonly totals: Totals;
  readonly read: number;
}

/** Which groups are wanted, and in which order. */
export type GroupOrder = Pick<SummaryQuery, 'by' | 'sort' | 'limit'>;

export function compareKeys(a: string | null, b: string | null): number {
  return a === null || b === null ? Number(a === null) - Number(b === null) : compareText(a, b);
}

/** The total by which groups are sorted, largest first; null: they are sorted by their keys. */
export function sortOf({ by, sort }: GroupOrder): keyof Totals | null {
  return sort ?? (by === 'day' ? null : 'requested_gib_hours');
}

/** At most `limit` groups, largest first; days stay in their order, and the last days are kept. */
export function chosenGroups(groups: readonly SummaryGroup[], query: GroupOrder): readonly SummaryGroup[] {
  const { limit } = query;
  const name = sortOf(query);
  const sorted = groups.toSorted(
    (a, b) => (name === null ? 0 : b.totals[name] - a.totals[name]) || compareKeys(a.key, b.key),
  );
  if (limit === undefined) return sorted;
  return name === null ? sorted.slice(-limit) : sorted.slice(0, limit);
}

/** The answer that a store gives. */
export function summaryAnswer(raw: RawSummary, query: GroupOrder): SummaryAnswer {
  const hours = Array.from({ length: 24 }, (_item, hour): HourOfDay => ({
    requested_gib_hours: raw.hours[hour] ?? 0,
    used_gib_hours: raw.hours[24 + hour] ?? 0,
    slot_hours: raw.hours[48 + hour] ?? 0,
  }));
  const coverage = COVERAGE_REASONS.map((reason, index) => [reason, raw.coverage[index] ?? 0]);
  return {
    groups: chosenGroups(raw.groups, query),
    totals: raw.totals,
    hours,
    shares: [...raw.shares],
    coverage: Object.fromEntries(coverage) as Record<CoverageReason, number>,
    read: raw.read,
  };
}

/** Minutes that local time is ahead of UTC when an hour (UTC) of a day (counted from 1970) begins. */
export function zoneOffset(day: number, hour: number): number {
  return 0 - new Date(day * DAY_MS + hour * HOUR_MS).getTimezoneOffset();
}

import { DAY_MS, HOUR_MS } from '../../base/units';

/** Days are UTC days since 1970. Months and years are roll-ups of the days in them. */

/** A day that never comes, in a type that both stores can compare. */
export const FOR_EVER = 2 ** 31 - 1;
/** Hours are UTC hours since 1970. */
export const HOURS_OF_DAY = 24;

export const UNITS = ['day', 'month', 'year'] as const;
export type Unit = (typeof UNITS)[number];

/** A UTC day, month or year by its first day. */
export interface Period {
  readonly unit: Unit;
  readonly day: number;
}

/** Half-open, in ms. */
export interface Span {
  readonly since: number;
  readonly until: number;
}

/** The spans in their order; spans that touch become one, empty ones are left out. */
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

/** First day of the period that a day is in. */
export function periodStart(unit: Unit, day: number): number {
  if (unit === 'day') return day;
  const date = new Date(day * DAY_MS);
  return Date.UTC(date.getUTCFullYear(), unit === 'month' ? date.getUTCMonth() : 0) / DAY_MS;
}

/** First day after the period that begins with a day. */
export function periodEnd({ unit, day }: Period): number {
  if (unit === 'day') return day + 1;
  const date = new Date(day * DAY_MS);
  const [year, month] = [date.getUTCFullYear(), date.getUTCMonth()];
  return (unit === 'month' ? Date.UTC(year, month + 1) : Date.UTC(year + 1)) / DAY_MS;
}

/** The larger periods that a period is in. */
export function largerPeriods({ unit, day }: Period): readonly Period[] {
  return UNITS.slice(UNITS.indexOf(unit) + 1).map((larger) => ({ unit: larger, day: periodStart(larger, day) }));
}

export const dayOf = (ms: number): number => Math.floor(ms / DAY_MS);

export const hourOf = (ms: number): number => Math.floor(ms / HOUR_MS);

export const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

import { AMOUNT_SORTS, type AmountSort } from '../sorts';
import type { RecordsQuery } from '../store';
import { MOST_LISTED } from './largest';
import { DAY_MS, type Span } from './periods';
import { rolledQuery, type RolledQuery } from './plan';

export type LargestQuery = RecordsQuery & { readonly sort: AmountSort; readonly limit: number };

/** The lists of a query: of which group, which order, and of which days; null: none know its filter. */
export function listsFor(query: LargestQuery): (Omit<RolledQuery, 'groups'> & { readonly sort: number }) | null {
  const rolled = query.cluster === undefined ? rolledQuery({ ...query, by: 'cluster', sort: 'records' }) : null;
  return rolled && { ...rolled, sort: AMOUNT_SORTS.indexOf(query.sort) };
}

/** A record in an order of amounts. */
export interface Entry {
  readonly id: number;
  /** When it counts (ms); of a list's its day. */
  readonly at: number;
  /** -Infinity: not known. */
  readonly amount: number;
}

/** The largest records of a day. */
export interface DayList {
  readonly span: Span;
  readonly entries: readonly Entry[];
  /** The day's other records have at most this. */
  readonly rest: number;
}

/** `amounts` and `ids`: JSON lists, as they are stored. */
export function dayList(day: number, amounts: string, ids: string): DayList {
  const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
  const [values, numbers] = [JSON.parse(amounts) as number[], JSON.parse(ids) as number[]];
  return {
    span,
    // Of equal ones the later day's come first, and those of a day stand in their order.
    entries: numbers.map((id, index) => ({ id, at: span.since, amount: values[index] ?? 0 })),
    rest: values.length < MOST_LISTED ? -Infinity : (values.at(-1) ?? -Infinity),
  };
}

/** What of an interval is outside of the lists' days, newest first as these. */
function outside({ since, until }: Span, lists: readonly DayList[]): readonly Span[] {
  const days = lists.map(({ span }) => span);
  return [{ since: until, until }, ...days]
    .map((day, index) => ({ since: days[index]?.until ?? since, until: day.since }))
    .filter((span) => span.since < span.until);
}

function first(entries: readonly Entry[], limit: number): readonly Entry[] {
  return entries
    .toSorted((a, b) => Number(b.amount > a.amount) - Number(b.amount < a.amount) || b.at - a.at)
    .slice(0, limit);
}

/**
 * The first records of an interval, largest first, of equal ones the newest: by the lists of its days, newest first, as far
 * as these tell. Yields the spans to be read, each to be answered with its first records, of as many as `limit`.
 */
export function* largestFirst(
  interval: Span,
  limit: number,
  lists: readonly DayList[],
): Generator<Span, readonly Entry[], readonly Entry[]> {
  const others: Entry[] = [];
  for (const span of outside(interval, lists)) others.push(...(yield span));
  const found = first([...others, ...lists.flatMap(({ entries }) => entries)], limit);
  const least = found[limit - 1]?.amount ?? -Infinity;
  const all = [...others];
  // Of the day of a list that may go on all count.
  for (const { span, entries, rest } of lists) all.push(...(rest >= least ? yield span : entries));
  return first(all, limit);
}

import { DAY_MS } from '../../base/units';
import { AMOUNT_SORTS, type AmountSort } from '../sorts';
import type { RecordsQuery } from '../store';
import { MOST_LISTED } from './largest';
import { type Span } from './periods';
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

function numbersOf(text: string): readonly number[] | null {
  try {
    const list: unknown = JSON.parse(text);
    return Array.isArray(list) && list.every((item): item is number => typeof item === 'number') ? list : null;
  } catch {
    return null;
  }
}

/** `amounts` and `ids`: JSON lists, as they are stored; null: damaged, so that the day's records are to be read. */
export function dayList(day: number, amounts: string, ids: string): DayList | null {
  const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
  const [values, numbers] = [numbersOf(amounts), numbersOf(ids)];
  if (numbers === null || values?.length !== numbers.length) return null;
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
  let others: readonly Entry[] = [];
  for (const span of outside(interval, lists)) others = others.concat(yield span);
  const found = first([...others, ...lists.flatMap(({ entries }) => entries)], limit);
  const least = found[limit - 1]?.amount ?? -Infinity;
  let all = others;
  // Of the day of a list that may go on all count.
  for (const { span, entries, rest } of lists) all = all.concat(rest >= least ? yield span : entries);
  return first(all, limit);
}

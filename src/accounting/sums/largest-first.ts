import { jsonIn } from '../../base/json-in';
import { DAY_MS } from '../../base/units';
import { AMOUNT_SORTS, type AmountSort } from '../sorts';
import type { RecordsQuery } from '../store';
import { MOST_LISTED } from './largest';
import { type Span } from './periods';
import { rolledQuery, type RolledQuery } from './plan';

export type LargestQuery = RecordsQuery & { readonly sort: AmountSort; readonly limit: number };

/** The lists that answer a query: their group, order and days; null: no lists fit its filter. */
export function listsFor(query: LargestQuery): (Omit<RolledQuery, 'groups'> & { readonly sort: number }) | null {
  const rolled = query.cluster === undefined ? rolledQuery({ ...query, by: 'cluster', sort: 'records' }) : null;
  return rolled && { ...rolled, sort: AMOUNT_SORTS.indexOf(query.sort) };
}

/** A record in an order of amounts. */
export interface Entry {
  readonly id: number;
  /** When it counts (ms); for an entry of a day's list when the day begins. */
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
  const list = jsonIn(text);
  return Array.isArray(list) && list.every((item): item is number => typeof item === 'number') ? list : null;
}

/** `amounts` and `ids`: JSON lists, as they are stored; null: damaged, so that the day's records must be read. */
export function dayList(day: number, amounts: string, ids: string): DayList | null {
  const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
  const [values, numbers] = [numbersOf(amounts), numbersOf(ids)];
  if (numbers === null || values?.length !== numbers.length) return null;
  return {
    span,
    // Among equal amounts later days come first; a day's own order stays.
    entries: numbers.map((id, index) => ({ id, at: span.since, amount: values[index] ?? 0 })),
    rest: values.length < MOST_LISTED ? -Infinity : (values.at(-1) ?? -Infinity),
  };
}

/** The parts of an interval outside the days of `lists`, newest first, as `lists` are. */
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
 * The first records of an interval, largest first, of equal ones the newest: from the lists of its days (newest first),
 * as far as these suffice. Yields the spans to read, each to be answered with its first records, at most `limit`.
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
  // If a day may have more than its list, all its records count.
  for (const { span, entries, rest } of lists) all = all.concat(rest >= least ? yield span : entries);
  return first(all, limit);
}

import type { Database } from 'better-sqlite3';
import { AMOUNT_SORTS, type AmountSort } from '../../sorts';
import type { RecordsQuery } from '../../store';
import { MOST_LISTED } from '../../sums/largest';
import { DAY_MS, type Span } from '../../sums/periods';
import { rolledQuery } from '../../sums/plan';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { OTHER_DAYS, RolledReader } from '../sums/rolled-rows';
import { largestQuery } from './queries';
import type { Condition } from './record-filter';
import { daysOfKey } from './spans';

/**
 * The lists of a group's days, newest first. Parameters: @dimension, @key, @sort, @first, @end. CROSS JOIN: day by day.
 */
export const LARGEST_LISTS = `SELECT d.day, l.amounts, l.ids FROM summed_day d
  CROSS JOIN rollup_largest l ON l.day = d.day AND l.dimension = @dimension AND l.key = @key AND l.sort = @sort
  WHERE d.day >= @first AND d.day < @end AND d.day NOT IN (${OTHER_DAYS}) ORDER BY d.day DESC`;

interface Entry {
  readonly id: number;
  readonly at: number;
  readonly amount: number;
}

interface DayList {
  readonly span: Span;
  readonly entries: readonly Entry[];
  /** The day's other records have at most this. */
  readonly rest: number;
}

type Wanted = RecordsQuery & { readonly sort: AmountSort; readonly limit: number };

function listsOf(db: Database, words: Words, query: Wanted): readonly DayList[] {
  const rolled = rolledQuery({ ...query, by: 'cluster', sort: 'records' });
  if (rolled === null || query.cluster !== undefined) return [];
  const { set, key, first, end } = rolled;
  const number = key === null ? 0 : new RolledReader(db, words).numbersOf(set, key)[0];
  const parameters = { dimension: set, key: number ?? -1, sort: AMOUNT_SORTS.indexOf(query.sort), first, end };
  const rows = prepared<object, [number, string, string]>(db, LARGEST_LISTS, 'raw').all(parameters);
  return rows.map(([day, amountList, idList]) => {
    const [amounts, ids] = [JSON.parse(amountList) as number[], JSON.parse(idList) as number[]];
    const span = { since: day * DAY_MS, until: (day + 1) * DAY_MS };
    return {
      span,
      // Of equal ones the later day's come first, and those of a day stand in their order.
      entries: ids.map((id, index) => ({ id, at: span.since, amount: amounts[index] ?? 0 })),
      rest: amounts.length < MOST_LISTED ? -Infinity : (amounts.at(-1) ?? -Infinity),
    };
  });
}

/** What of an interval is outside of the lists' days, newest first as these. */
function* outside({ since, until }: Span, lists: readonly DayList[]): Generator<Span> {
  let end = until;
  for (const { span } of lists) {
    yield { since: span.until, until: end };
    end = span.since;
  }
  yield { since, until: end };
}

/**
 * The numbers of the first records of a query, whose condition that is, in an order of amounts: by the lists of days that
 * have them, as far as these tell. Inside one transaction.
 */
export function largestRecords(db: Database, words: Words, condition: Condition, query: Wanted): readonly number[] {
  const { sort, limit } = query;
  const statement = prepared<object, [number, number, number | null]>(db, largestQuery(condition, sort), 'raw');
  const read = (span: Span): readonly Entry[] =>
    [...daysOfKey(db, condition, span)]
      .flatMap((part) => statement.all({ ...condition.parameters, ...part, limit }))
      .map(([id, at, amount]) => ({ id, at, amount: amount ?? -Infinity }));
  const first = (entries: readonly Entry[]): readonly Entry[] =>
    entries
      .toSorted((a, b) => Number(b.amount > a.amount) - Number(b.amount < a.amount) || b.at - a.at)
      .slice(0, limit);
  const lists = listsOf(db, words, query);
  const others = [...outside(query, lists)].flatMap(read);
  const found = first([...others, ...lists.flatMap(({ entries }) => entries)]);
  const least = found[limit - 1]?.amount ?? -Infinity;
  // Of the day of a list that may go on.
  const whole = new Set(lists.filter(({ rest }) => rest >= least));
  if (whole.size === 0) return found.map(({ id }) => id);
  const parts = lists.flatMap((list) => (whole.has(list) ? read(list.span) : list.entries));
  return first([...others, ...parts]).map(({ id }) => id);
}

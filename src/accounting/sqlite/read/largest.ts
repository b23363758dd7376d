import type { Database } from 'better-sqlite3';
import { dayList, largestFirst, listsFor, type DayList, type Entry, type LargestQuery } from '../../sums/largest-first';
import type { Span } from '../../sums/periods';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { OTHER_DAYS, RolledReader } from '../sums/rolled-rows';
import { largestQuery } from './queries';
import type { Condition } from './record-filter';
import { daysOfKey } from './spans';

/**
 * The lists of a group's days, newest first. Parameters: @dimension, @key, @sort, @first, @end. CROSS JOIN makes SQLite
 * go day by day.
 */
export const LARGEST_LISTS = `SELECT d.day, l.amounts, l.ids FROM summed_day d
  CROSS JOIN rollup_largest l ON l.day = d.day AND l.dimension = @dimension AND l.key = @key AND l.sort = @sort
  WHERE d.day >= @first AND d.day < @end AND d.day NOT IN (${OTHER_DAYS}) ORDER BY d.day DESC`;

function listsOf(db: Database, words: Words, query: LargestQuery): readonly DayList[] {
  const lists = listsFor(query);
  if (lists === null) return [];
  const { set, key, sort, first, end } = lists;
  const number = key === null ? 0 : new RolledReader(db, words).numbersOf(set, key)[0];
  const parameters = { dimension: set, key: number ?? -1, sort, first, end };
  const rows = prepared<object, [number, string, string]>(db, LARGEST_LISTS, 'raw').all(parameters);
  return rows.flatMap((row) => dayList(...row) ?? []);
}

/**
 * The ids of the first records of a query, in an order of amounts; `condition` is the query's. Call it inside one
 * transaction.
 */
export function largestRecords(
  db: Database,
  words: Words,
  condition: Condition,
  query: LargestQuery,
): readonly number[] {
  const { sort, limit } = query;
  const statement = prepared<object, [number, number, number | null]>(db, largestQuery(condition, sort), 'raw');
  const read = (span: Span): readonly Entry[] =>
    [...daysOfKey(db, condition, span)]
      .flatMap((part) => statement.all({ ...condition.parameters, ...part, limit }))
      .map(([id, at, amount]) => ({ id, at, amount: amount ?? -Infinity }));
  const steps = largestFirst(query, limit, listsOf(db, words, query));
  let step = steps.next();
  while (step.done !== true) step = steps.next(read(step.value));
  return step.value.map(({ id }) => id);
}

import { DAY_MS } from '../../base/units';
import { SORTS } from '../sorts';
import { SELF_REPORTED } from '../sums/fact-columns';
import { dayList, largestFirst, listsFor, type DayList, type Entry, type LargestQuery } from '../sums/largest-first';
import { type Span } from '../sums/periods';
import { conditionOf, Parameters } from './record-filter';
import { notOf, type Snapshot, type Unsettled } from './snapshot';

/** Lists of days, newest first; $1 dimension, $2 key, $3 sort, $4 first day, $5 the first day after. */
const LISTS = `SELECT l.day, l.amounts, l.ids FROM qmemacct.rollup_largest AS l
  WHERE l.dimension = $1 AND l.key = $2 AND l.sort = $3 AND l.day >= $4 AND l.day < $5
    AND l.day NOT IN (SELECT s.day FROM qmemacct.stale_day AS s)
    AND NOT EXISTS (SELECT FROM qmemacct.record AS r WHERE r.trust = ${SELF_REPORTED}
      AND r.counted_at >= l.day::bigint * ${DAY_MS} AND r.counted_at < (l.day + 1)::bigint * ${DAY_MS})
  ORDER BY l.day DESC`;

async function listsOf(
  { db, source }: Snapshot,
  { days }: Unsettled,
  query: LargestQuery,
): Promise<readonly DayList[]> {
  const lists = source.all ? listsFor(query) : null;
  if (lists === null) return [];
  const { set, key, sort, first, end } = lists;
  const rows = await db.rows<readonly [number, string, string]>(LISTS, [set, key ?? '', sort, first, end]);
  return rows.flatMap((row) => (days.has(row[0]) ? [] : (dayList(...row) ?? [])));
}

/** The first records of the table that a query selects, in an order of amounts, without unsettled ones. */
export async function largestRecords(
  snapshot: Snapshot,
  unsettled: Unsettled,
  query: LargestQuery,
): Promise<readonly Entry[]> {
  const { db, source } = snapshot;
  const { sort, limit } = query;
  const read = async (span: Span): Promise<readonly Entry[]> => {
    const parameters = new Parameters();
    const condition = conditionOf({ ...query, ...span }, source, parameters);
    const rows = await db.rows<readonly [number, number, number | null]>(
      `SELECT r.id, r.counted_at, (${SORTS[sort].sql})::double precision AS amount
       FROM ${source.records} AS r WHERE ${condition}${notOf(unsettled.ids)}
       ORDER BY amount DESC NULLS LAST, r.counted_at DESC, r.id DESC LIMIT ${limit}`,
      parameters.values,
    );
    return rows.map(([id, at, amount]) => ({ id, at, amount: amount ?? -Infinity }));
  };
  const steps = largestFirst(query, limit, await listsOf(snapshot, unsettled, query));
  let step = steps.next();
  while (step.done !== true) step = steps.next(await read(step.value));
  return step.value;
}

import { TOTALS_NAMES, addTotals, type MutableTotals } from '../../record/totals';
import type { Database } from 'better-sqlite3';
import type { SummaryQuery } from '../summary';
import { DEFAULT_FAR_BELOW, newSums, stepsOf } from '../../record/sums';
import type { Sums } from '../../record/sums';
import { addBins, type BinCell } from './bins';
import type { Words } from './dictionary';
import { dictionaryOf } from '../schema-text';
import { dimensionNumber } from './dimensions';
import { prepared } from './prepared';
import { rollUpAgain, rollUpByKey, rollUpRows } from './queries';
import type { Condition } from './record-filter';
import { addDay, groupOf, isoDay } from './summary-board';
import type { Board, GroupKey } from './summary-board';
import type { Plan } from './summary-plan';

type RollUpRow = readonly [
  day: number,
  key: number,
  cluster: number,
  hours: BinCell,
  shares: BinCell,
  coverage: BinCell,
  ...totals: number[],
];
const TOTALS_AT = 6;

function totalsOf(row: RollUpRow): MutableTotals {
  return Object.fromEntries(TOTALS_NAMES.map((name, index) => [name, row[index + TOTALS_AT] ?? 0])) as MutableTotals;
}

/** Adds the roll-ups of the days that have one that holds. */
export function addRolled(
  db: Database,
  words: Words,
  query: SummaryQuery,
  condition: Condition,
  plan: Plan,
  board: Board,
): void {
  const { by } = query;
  const { dimension, cluster } = condition;
  const farBelow = query.far_below ?? DEFAULT_FAR_BELOW;
  const steps = stepsOf(farBelow);
  const choice = { key: dimension !== null, cluster: cluster !== null };
  const parameters = { first: plan.first, end: plan.end, key: dimension?.id ?? null, cluster, since: query.since };
  const rows = (sql: string, of: number): RollUpRow[] =>
    prepared<object, RollUpRow>(db, sql, 'raw').all({ ...parameters, dimension: of });
  const again = (sql: string, of: number): [number, number, number][] =>
    prepared<object, [number, number, number]>(db, sql, 'raw').all({ ...parameters, dimension: of });
  const own = dimension === null ? 0 : dimensionNumber(dimension.name);
  const ownGroup = (day: number | null, key: number, clusterId: number): GroupKey => {
    if (by === 'day') return day === null ? null : isoDay(day);
    if (by === 'cluster') return words.text('cluster', clusterId);
    return key === 0 ? null : words.text(dictionaryOf(by), key);
  };
  const separate = by !== 'day' && by !== 'cluster' && dimension === null;
  const withBins = (row: RollUpRow): Sums => {
    const sums = { ...newSums(), totals: totalsOf(row) };
    addBins(sums, [row[3], row[4], row[5]]);
    if (steps !== stepsOf(DEFAULT_FAR_BELOW))
      sums.totals.far_below = sums.shares.slice(0, steps).reduce((sum, count) => sum + count, 0);
    return sums;
  };
  for (const row of rows(rollUpRows(choice), own)) {
    const sums = withBins(row);
    addDay(board, row[0], sums);
    if (!separate) addTotals(groupOf(board, ownGroup(row[0], row[1], row[2])), sums.totals);
  }
  for (const [key, clusterId, jobs] of again(rollUpAgain(choice), own)) {
    board.totals.jobs -= jobs;
    if (!separate && by !== 'day') groupOf(board, ownGroup(null, key, clusterId)).jobs -= jobs;
  }
  if (!separate) return;
  const of = dimensionNumber(by);
  const plainShare = steps === stepsOf(DEFAULT_FAR_BELOW);
  for (const row of rows((plainShare ? rollUpByKey : rollUpRows)(choice), of))
    addTotals(groupOf(board, ownGroup(null, row[1], 0)), plainShare ? totalsOf(row) : withBins(row).totals);
  for (const [key, , jobs] of again(rollUpAgain(choice), of)) groupOf(board, ownGroup(null, key, 0)).jobs -= jobs;
}

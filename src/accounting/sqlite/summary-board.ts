import { addTotals, noTotals, type MutableTotals } from '../../record/totals';
import { zoneOffset } from '../summary-answer';
import { addShiftedHours, newSums } from '../../record/sums';
import type { Sums } from '../../record/sums';
import { DAY_MS } from './stale-days';

export type GroupKey = string | null;

/** What is being summed up. */
export interface Board {
  readonly groups: Map<GroupKey, MutableTotals>;
  readonly totals: MutableTotals;
  readonly hours: Float64Array;
  readonly shares: Float64Array;
  readonly coverage: Float64Array;
  read: number;
}

export function newBoard(): Board {
  const { totals, hours, shares, coverage } = newSums();
  return { groups: new Map(), totals, hours, shares, coverage, read: 0 };
}

export function groupOf(board: Board, key: GroupKey): MutableTotals {
  const known = board.groups.get(key);
  if (known !== undefined) return known;
  const made = noTotals();
  board.groups.set(key, made);
  return made;
}

export function addDay(board: Board, day: number, sums: Sums): void {
  addTotals(board.totals, sums.totals);
  addShiftedHours(board.hours, sums.hours, zoneOffset(day));
  for (const name of ['shares', 'coverage'] as const)
    sums[name].forEach((value, index) => (board[name][index] = (board[name][index] ?? 0) + value));
}

export const isoDay = (day: number): string => new Date(day * DAY_MS).toISOString().slice(0, 10);

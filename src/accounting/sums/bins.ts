import type { Bins } from '../../record/sums';

/** A list of numbers as JSON; null: all of them 0. */
export type BinCell = string | null;
export type BinCells = readonly [hours: BinCell, shares: BinCell, coverage: BinCell];

/** Hours are kept to a thousandth of a GiB h or slot hour. */
const thousandths = (value: number): number => Math.round(value * 1000) / 1000;

function cellOf(values: Float64Array): BinCell {
  return values.some((value) => value !== 0) ? JSON.stringify(Array.from(values, thousandths)) : null;
}

export function binCells({ hours, shares, coverage }: Bins): BinCells {
  return [cellOf(hours), cellOf(shares), cellOf(coverage)];
}

/** Adds what `binCells` made to bins. */
export function addBinCells({ hours, shares, coverage }: Bins, cells: BinCells): void {
  for (const [index, values] of [hours, shares, coverage].entries()) {
    const cell = cells[index] ?? null;
    if (cell === null) continue;
    (JSON.parse(cell) as readonly number[]).forEach((value, at) => (values[at] = (values[at] ?? 0) + value));
  }
}

import { TOTALS_NAMES } from '../../record/totals';
import { newSums, type Sums } from '../../record/sums';
import { addBinCells, binCells, type BinCell } from '../sums/bins';
import type { Cell } from '../columns';

/** A row of the table `rollup`, as ROLLED_COLUMNS has it. */
export type RolledRow = readonly [
  day: number,
  cluster: string,
  key: string,
  hours: BinCell,
  shares: BinCell,
  coverage: BinCell,
  elsewhere: string | null,
  ...totals: number[],
];
const TOTALS_AT = 7;

export const ROLLED_COLUMNS = `day, cluster, key, hours, shares, coverage, elsewhere, ${TOTALS_NAMES.join(', ')}`;

/** `elsewhere`: jobs of the group that have records on other days. */
export function packSums(sums: Sums, elsewhere: ReadonlySet<string>): readonly Cell[] {
  return [
    ...binCells(sums),
    elsewhere.size === 0 ? null : JSON.stringify([...elsewhere]),
    ...TOTALS_NAMES.map((name) => sums.totals[name]),
  ];
}

/** The sums again; their `jobs` is 0: whoever sums days tells the jobs apart. `alone`: jobs of that day only. */
export function unpackSums(row: RolledRow): {
  readonly sums: Sums;
  readonly alone: number;
  readonly elsewhere: readonly string[];
} {
  const sums = newSums();
  for (const [index, name] of TOTALS_NAMES.entries()) sums.totals[name] = Number(row[index + TOTALS_AT] ?? 0);
  addBinCells(sums, [row[3], row[4], row[5]]);
  const elsewhere = row[6] === null ? [] : (JSON.parse(row[6]) as readonly string[]);
  const alone = sums.totals.jobs - elsewhere.length;
  sums.totals.jobs = 0;
  return { sums, alone, elsewhere };
}

import { TOTALS_NAMES } from '../../record/totals';
import { newSums } from '../../record/sums';
import type { Sums } from '../../record/sums';

/** The sums of a day's group, as the column `rollup.sums` has them. */
export interface PackedSums {
  /** In the order of TOTALS_NAMES. */
  readonly t: readonly number[];
  /** Jobs that have records on no other day; and the others, by name: whoever sums several days counts those once. */
  readonly j: number;
  readonly l: readonly string[];
  /** Hours, shares and coverage (Sums), without the zeros at their ends. */
  readonly h: readonly number[];
  readonly s: readonly number[];
  readonly c: readonly number[];
}

function shortened(values: Float64Array): readonly number[] {
  const end = values.findLastIndex((value) => value !== 0) + 1;
  return Array.from(values.subarray(0, end), (value) => Math.round(value * 1e6) / 1e6);
}

function filled(length: number, values: readonly number[]): Float64Array {
  const all = new Float64Array(length);
  all.set(values.slice(0, length));
  return all;
}

/** `alone`: jobs whose records are all of this day; `elsewhere`: those that have some on another. */
export function packSums(sums: Sums, alone: ReadonlySet<string>, elsewhere: ReadonlySet<string>): PackedSums {
  return {
    t: TOTALS_NAMES.map((name) => sums.totals[name]),
    j: alone.size,
    l: [...elsewhere],
    h: shortened(sums.hours),
    s: shortened(sums.shares),
    c: shortened(sums.coverage),
  };
}

/** The sums again; their `jobs` is 0: whoever sums days tells the jobs apart. */
export function unpackSums({ t, h, s, c }: PackedSums): Sums {
  const empty = newSums();
  for (const [index, name] of TOTALS_NAMES.entries()) empty.totals[name] = t[index] ?? 0;
  empty.totals.jobs = 0;
  return {
    totals: empty.totals,
    hours: filled(empty.hours.length, h),
    shares: filled(empty.shares.length, s),
    coverage: filled(empty.coverage.length, c),
  };
}

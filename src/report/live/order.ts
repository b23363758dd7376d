/** What rows can be sorted by. Unknown values (null) come last, whichever way. */
export interface Order<T> {
  readonly key: string;
  readonly of: (row: T) => number | string | null;
  /** Whether the largest comes first when nobody asks for the reverse. */
  readonly largestFirst: boolean;
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [x, y] = [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Rows in an order; equal ones as `ties` has them. */
export function sortRows<T>(
  rows: readonly T[],
  order: Order<T>,
  reverse: boolean,
  ties: (a: T, b: T) => number,
): readonly T[] {
  const sign = order.largestFirst === reverse ? 1 : -1;
  return rows
    .map((row) => ({ row, value: order.of(row) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null)
        return Number(a.value === null) - Number(b.value === null) || ties(a.row, b.row);
      return sign * compare(a.value, b.value) || ties(a.row, b.row);
    })
    .map(({ row }) => row);
}

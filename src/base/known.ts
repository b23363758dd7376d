/** Sums and maxima of figures that may be unknown. */

type Figures = readonly (number | null | undefined)[];

/** null: nothing is known. */
export function sumOfKnown(values: Figures): number | null {
  return values.reduce<number | null>((sum, value) => (value == null ? sum : (sum ?? 0) + value), null);
}

/** null: nothing is known. */
export function largestOfKnown(values: Figures): number | null {
  return values.reduce<number | null>(
    (most, value) => (value == null ? most : Math.max(most ?? -Infinity, value)),
    null,
  );
}

/** null: neither is known. */
export const larger = (a: number | null, b: number | null): number | null =>
  a === null ? b : b === null ? a : Math.max(a, b);

/** null: at least one is not known, or there are none. */
export function sumOfAll(values: Figures): number | null {
  return values.some((value) => value == null) ? null : sumOfKnown(values);
}

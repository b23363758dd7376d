/** Value below which `share` (0 to 1) of the values lie, by linear interpolation; NaN for no values. */
export function quantile(values: readonly number[], share: number): number {
  const sorted = [...values].sort((a, b) => a - b);
  const position = (sorted.length - 1) * share;
  const below = sorted[Math.floor(position)];
  const above = sorted[Math.ceil(position)];
  return below === undefined || above === undefined ? NaN : below + (above - below) * (position - Math.floor(position));
}

export function median(values: readonly number[]): number {
  return quantile(values, 0.5);
}

export function sum(values: readonly number[]): number {
  return values.reduce((total, value) => total + value, 0);
}

/** "95 %: 12.3 ms" of ms. */
export const tail = (values: readonly number[]): string => `95 %: ${quantile(values, 0.95).toFixed(1)} ms`;

import { formatQuantity, type QuantityUnit } from '../format/quantity';
import { formatBytes, formatCount, formatNumber } from '../format/units';
import { ExpressionError } from './expression-error';

/** The dimension of a value, as powers of bytes, seconds and joules. All zero: a plain number, a share, a count. */
export type Dimension = readonly [bytes: number, seconds: number, joules: number];

export const PLAIN: Dimension = [0, 0, 0];
const BYTES: Dimension = [1, 0, 0];
const SECONDS: Dimension = [0, 1, 0];
const JOULES: Dimension = [0, 0, 1];
export const BYTE_SECONDS: Dimension = [1, 1, 0];

interface LiteralUnit {
  readonly factor: number;
  readonly of: Dimension;
}

const powers = (names: readonly string[], base: number): [string, LiteralUnit][] =>
  names.map((name, index) => [name, { factor: base ** (index + 1), of: BYTES }]);

/** The units that may follow a number. */
const UNITS: ReadonlyMap<string, LiteralUnit> = new Map([
  ['', { factor: 1, of: PLAIN }],
  ['%', { factor: 0.01, of: PLAIN }],
  ['B', { factor: 1, of: BYTES }],
  ...powers(['KiB', 'MiB', 'GiB', 'TiB'], 1024),
  ...powers(['kB', 'MB', 'GB', 'TB'], 1000),
  ['ms', { factor: 0.001, of: SECONDS }],
  ['s', { factor: 1, of: SECONDS }],
  ['min', { factor: 60, of: SECONDS }],
  ['h', { factor: 3600, of: SECONDS }],
  ['d', { factor: 86_400, of: SECONDS }],
  ['J', { factor: 1, of: JOULES }],
  ['kWh', { factor: 3.6e6, of: JOULES }],
]);

/** The unit that follows a number. Throws ExpressionError for an unknown unit. */
export function literalUnit(unit: string, at: number): LiteralUnit {
  const known = UNITS.get(unit);
  if (known !== undefined) return known;
  const names = [...UNITS.keys()].filter((name) => name !== '').join(', ');
  throw new ExpressionError(`"${unit}" is not a unit; known are ${names}`, at);
}

export const sameDimension = (a: Dimension, b: Dimension): boolean => a.every((power, index) => power === b[index]);

/** The dimension of a product (sign 1) or a quotient (-1). */
export const combined = (a: Dimension, b: Dimension, sign: 1 | -1): Dimension => [
  a[0] + sign * b[0],
  a[1] + sign * b[1],
  a[2] + sign * b[2],
];

/** The name of a dimension in an error. */
export function dimensionName(dimension: Dimension): string {
  if (sameDimension(dimension, PLAIN)) return 'a plain number';
  const part = (power: number, name: string): string[] =>
    power === 0 ? [] : [power === 1 ? name : `${name}^${power}`];
  return [...part(dimension[0], 'bytes'), ...part(dimension[1], 'seconds'), ...part(dimension[2], 'joules')].join('*');
}

const OF_UNITS: Readonly<Partial<Record<QuantityUnit, LiteralUnit>>> = {
  bytes: { of: BYTES, factor: 1 },
  seconds: { of: SECONDS, factor: 1 },
  byte_seconds: { of: BYTE_SECONDS, factor: 1 },
  joules: { of: JOULES, factor: 1 },
  percent: { of: PLAIN, factor: 0.01 },
};

/** The dimension of a field or metric, and the factor to the units of rules, where a percentage is a share. */
export const dimensionOf = (unit: QuantityUnit): LiteralUnit => OF_UNITS[unit] ?? { of: PLAIN, factor: 1 };

const PLAIN_GLYPHS = { dot: '·', degree: '°' };

/** A value for people. `isShare`: as percent; `isCounted`: Grid Engine's figure. */
export function formatValue(
  value: number,
  dimension: Dimension,
  { isShare, isCounted }: { readonly isShare: boolean; readonly isCounted: boolean },
): string {
  if (isShare) return formatQuantity(value * 100, 'percent', PLAIN_GLYPHS);
  // Lower bounds are rounded down, as on every screen.
  const rounded = isCounted ? 'nearest' : 'down';
  if (sameDimension(dimension, BYTES)) return `${value < 0 ? '-' : ''}${formatBytes(Math.abs(value), rounded)}`;
  const unit = (['seconds', 'byte_seconds', 'joules'] as const).find((name) =>
    sameDimension(dimensionOf(name).of, dimension),
  );
  if (unit !== undefined) return formatQuantity(value, unit, PLAIN_GLYPHS);
  return Number.isInteger(value) ? formatCount(value) : formatNumber(value);
}

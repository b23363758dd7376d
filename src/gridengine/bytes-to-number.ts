import { bytesToText } from './bytes-to-text';

const MINUS = 0x2d;
const ZERO = 0x30;
const POINT = 0x2e;
const TEN_TO: readonly number[] = Array.from({ length: 16 }, (_, power) => 10 ** power);

/** A decimal number of at most 15 digits, `-3.25` or `1073741824.000000`, without making a string; NaN: something else. */
export function plainNumber(bytes: Buffer, from: number, to: number): number {
  let at = from;
  const negative = bytes[at] === MINUS && at < to;
  if (negative) at++;
  const start = at;
  let value = 0;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) break;
    value = value * 10 + digit;
  }
  const whole = at - start;
  if (whole === 0 || whole > 15) return NaN;
  if (at === to) return negative ? -value : value;
  if (bytes[at] !== POINT) return NaN;
  let fraction = 0;
  const point = at++;
  for (; at < to; at++) {
    const digit = (bytes[at] as number) - ZERO;
    if (digit < 0 || digit > 9) return NaN;
    fraction = fraction * 10 + digit;
  }
  const digits = at - point - 1;
  if (digits === 0 || digits > 15) return NaN;
  if (fraction === 0) return negative ? -value : value;
  if (whole + digits > 15) return NaN;
  const scale = TEN_TO[digits] as number;
  const number = (value * scale + fraction) / scale;
  return negative ? -number : number;
}

/** A decimal number (`-3.25`, `1.23e+05`, blanks around it); NaN if it is none. */
export function bytesToNumber(bytes: Buffer, from: number, to: number): number {
  const plain = plainNumber(bytes, from, to);
  if (!Number.isNaN(plain)) return plain;
  return to - from > 400 ? NaN : textToNumber(bytesToText(bytes, from, to));
}

export function textToNumber(text: string): number {
  const trimmed = text.trim();
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : NaN;
}

import { bytesToText } from './bytes-to-text';

const MINUS = 0x2d;
const ZERO = 0x30;
const POINT = 0x2e;
const TEN_TO: readonly number[] = Array.from({ length: 16 }, (_, power) => 10 ** power);

/**
 * A decimal number (`-3.25`, `1.23e+05`, blanks around it), without making a string where its digits fit into the 53
 * bits of a double, as nearly all that Grid Engine prints do; NaN if it is none.
 */
export function bytesToNumber(bytes: Buffer, from: number, to: number): number {
  let at = from;
  const negative = at < to && bytes[at] === MINUS;
  if (negative) at++;
  let value = 0;
  let digits = 0;
  let point = -1;
  for (; at < to; at++) {
    const byte = bytes[at] as number;
    if (byte >= ZERO && byte <= ZERO + 9) {
      value = value * 10 + byte - ZERO;
      digits++;
    } else if (byte === POINT && point < 0) point = digits;
    else break;
  }
  if (at < to || digits === 0 || digits > 15) return to - from > 400 ? NaN : textToNumber(bytesToText(bytes, from, to));
  if (point >= 0) value /= TEN_TO[digits - point] as number;
  return negative ? -value : value;
}

export function textToNumber(text: string): number {
  const trimmed = text.trim();
  return /^[+-]?(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?$/.test(trimmed) ? Number(trimmed) : NaN;
}

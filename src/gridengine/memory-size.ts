import { GIB, MIB } from '../base/units';
import { failure, success, type Result } from '../base/result';

/** sge_types(5), memory_specifier: small letters are powers of 1000, capitals of 1024. There is no P and no B. */
const multipliers: ReadonlyMap<string, number> = new Map([
  ['k', 1000],
  ['K', 1024],
  ['m', 1000 ** 2],
  ['M', MIB],
  ['g', 1000 ** 3],
  ['G', GIB],
  ['t', 1000 ** 4],
  ['T', 1024 ** 4],
]);

/** Longer texts are no numbers that a person typed; the bound keeps hostile input cheap. */
const maxLength = 4096;

/**
 * Bytes of a Grid Engine memory value such as `4G`, `1.5g` or `INFINITY`, read exactly as Grid Engine reads it
 * (libs/uti/sge_parse_num_par.c, `sge_parse_num_val`).
 *
 * Surprises that are Grid Engine's own: `0x10G` is 16 GiB and `010K` 8 KiB, truncated to 32 bits before the multiplier
 * (`0x100000000` is 0); `4GB` and `4 G` are errors; text after `,` or `/` is ignored; `true` is 1; `1:0:0` is 3600.
 * Infinity means unlimited; a sign is accepted. Not a whole number where the text has a fraction. Grid Engine lets
 * `nan` pass; here it is an error.
 */
export function parseMemorySize(text: string): Result<number> {
  return parseNumber(text, 3);
}

/**
 * Seconds of a TIME complex such as `24:00:00`, `::30`, `3600` or `INFINITY`. Beyond what Grid Engine reads, `d:h:m:s`
 * is accepted, because some versions print it.
 */
export function parseTime(text: string): Result<number> {
  return parseNumber(text, 4);
}

function parseNumber(text: string, maxTimeParts: 3 | 4): Result<number> {
  if (text.length > maxLength) return failure('value is too long');
  const lower = text.toLowerCase();
  if (lower === 'true') return success(1);
  if (lower === 'false') return success(0);
  if (lower === 'infinity') return success(Infinity);
  if (text.includes(':')) return parseClock(text, maxTimeParts);
  const number = text.includes('.') || !text.startsWith('0') ? scanDouble(text) : scanInteger32(text);
  if (number.length === 0) return failure(`no number in ${quote(text)}`);
  if (Number.isNaN(number.value)) return failure(`${quote(text)} is not a number`);
  return multiply(number.value, text, number.length);
}

function multiply(value: number, text: string, end: number): Result<number> {
  const multiplier = multipliers.get(text.charAt(end));
  const rest = text.charAt(multiplier === undefined ? end : end + 1);
  if (rest !== '' && rest !== ',' && rest !== '/') {
    return failure(`unexpected ${quote(rest)} in ${quote(text)}: the multipliers are k K m M g G t T`);
  }
  return success(value * (multiplier ?? 1) + 0);
}

/** Each part may be empty and may have a fraction; hours and minutes end at 2^31 - 1, spaces may follow the seconds. */
function parseClock(text: string, maxParts: 3 | 4): Result<number> {
  const parts = text.split(':', maxParts + 1);
  const last = parts.length - 1;
  if (parts.length < 3 || parts.length > maxParts) return failure(`${quote(text)} is not a time h:m:s`);
  const units = [86_400, 3600, 60, 1].slice(4 - parts.length);
  let seconds = 0;
  for (const [index, part] of parts.entries()) {
    const { value, length } = scanDouble(part);
    const rest = part.slice(length);
    const clean = index === last ? /^[ \t\n\v\f\r]*$/.test(rest) : rest === '';
    if (!clean || Number.isNaN(value) || (index < last && value > 0x7fffffff)) {
      return failure(`${quote(part)} is not a part of a time h:m:s`);
    }
    seconds += value * (units[index] ?? 1);
  }
  return Number.isNaN(seconds) ? failure(`${quote(text)} is not a time h:m:s`) : success(seconds);
}

interface Scanned {
  readonly value: number;
  /** Characters consumed; 0 if there is no number. */
  readonly length: number;
}

const none: Scanned = { value: 0, length: 0 };

/** strtod(3) in the C locale: leading blanks, sign, decimal or hexadecimal with exponent, inf, nan. */
function scanDouble(text: string): Scanned {
  const lead =
    /^[ \t\n\v\f\r]*([+-]?)(?:0x([0-9a-f]+\.?[0-9a-f]*|\.[0-9a-f]+)(?:p([+-]?\d+))?|((?:\d+\.?\d*|\.\d+)(?:e[+-]?\d+)?)|(infinity|inf)|(nan(?:\(\w*\))?))/i.exec(
      text,
    );
  if (lead === null) return none;
  const [all, sign, hex, hexExponent, decimal, infinite] = lead;
  let value = NaN;
  if (hex !== undefined) value = hexValue(hex, Number(hexExponent ?? 0));
  else if (decimal !== undefined) value = Number(decimal);
  else if (infinite !== undefined) value = Infinity;
  return { value: sign === '-' ? -value : value, length: all.length };
}

function hexValue(digits: string, exponent: number): number {
  const [whole = '', fraction = ''] = digits.split('.');
  let value = 0;
  for (const digit of whole) value = value * 16 + parseInt(digit, 16);
  let place = 1;
  for (const digit of fraction) value += parseInt(digit, 16) * (place /= 16);
  return value === 0 ? 0 : value * 2 ** exponent;
}

/** strtol(3) with base 0 into a 32-bit unsigned; the text begins with `0`, so the base is 16 or 8. */
function scanInteger32(text: string): Scanned {
  const digits = /^(?:0x[0-9a-f]+|[0-7]+)/i.exec(text)?.[0];
  if (digits === undefined) return none;
  const exact = BigInt(/^0x/i.test(digits) ? digits : `0o${digits}`);
  const clamped = exact > 0x7fff_ffff_ffff_ffffn ? 0x7fff_ffff_ffff_ffffn : exact;
  return { value: Number(BigInt.asUintN(32, clamped)), length: digits.length };
}

function quote(text: string): string {
  return JSON.stringify(text.length > 40 ? `${text.slice(0, 40)}...` : text);
}

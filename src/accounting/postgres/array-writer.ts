/** A number, up to 2^53, as PostgreSQL prints a double precision: values that are equal have equal text. */
function doubleText(value: number): string {
  const size = Math.abs(value);
  if (size === 0) return '0';
  if (size >= 1e-4 && size < 1e15) return String(value);
  return value.toExponential().replace(/e([+-])(\d)$/, 'e$10$2');
}

/** An element of an array literal. */
export function quoted(text: string): string {
  return `"${text.replace(/["\\]/g, '\\$&')}"`;
}

/** Writes the text of an array of the database's, element by element; null: NULL. */
export interface ArrayWriter {
  readonly integer: (value: number | null) => void;
  /** As `doubleText` tells it. */
  readonly double: (value: number | null) => void;
  /** Several numbers in one element, each with a colon behind it; null: nothing before the colon. */
  readonly list: (values: readonly (number | null)[]) => void;
  /** Of ASCII characters that need no quotes, or have them. */
  readonly ascii: (text: string | null) => void;
  readonly finish: () => string;
}

const OPEN = 0x7b;
const CLOSE = 0x7d;
const COMMA = 0x2c;
const COLON = 0x3a;
const MINUS = 0x2d;
const POINT = 0x2e;
const ZERO = 0x30;
/** Of a number in any form. */
const LONGEST_NUMBER = 32;
const BILLION = 1e9;
const MILLION = 1e6;
/** Up to so many digits a decimal fraction is the shortest that tells its number. */
const MOST_DIGITS = 1e15;

/** Strings of their own for each number would cost more than all the rest of an import. */
export function arrayWriter(size = 1 << 16): ArrayWriter {
  let bytes = Buffer.allocUnsafe(size);
  let at = 0;
  bytes[at++] = OPEN;
  const room = (more: number): void => {
    if (at + more <= bytes.length) return;
    const larger = Buffer.allocUnsafe(2 * bytes.length + more);
    bytes.copy(larger, 0, 0, at);
    bytes = larger;
  };
  const write = (text: string): void => {
    room(text.length + 1);
    for (let place = 0; place < text.length; place++) bytes[at++] = text.charCodeAt(place);
  };
  const digits = (value: number, count: number): void => {
    let left = value;
    for (let place = at + count - 1; place >= at; place--) {
      const rest = (left / 10) | 0;
      bytes[place] = ZERO + left - rest * 10;
      left = rest;
    }
    at += count;
  };
  const whole = (value: number): void => {
    const high = value < BILLION ? 0 : Math.floor(value / BILLION);
    if (high > 0) {
      whole(high);
      digits(value - high * BILLION, 9);
      return;
    }
    let count = 1;
    for (let power = 10; value >= power && count < 9; power *= 10) count++;
    digits(value, count);
  };
  const integer = (value: number): void => {
    room(LONGEST_NUMBER);
    if (value < 0) bytes[at++] = MINUS;
    whole(Math.abs(value));
  };
  const double = (value: number): void => {
    const millionths = Math.round(value * MILLION);
    if (!(value >= 1e-4 && millionths < MOST_DIGITS) || millionths / MILLION !== value) {
      write(doubleText(value));
      return;
    }
    room(LONGEST_NUMBER);
    const units = Math.floor(millionths / MILLION);
    whole(units);
    const fraction = millionths - units * MILLION;
    if (fraction === 0) return;
    bytes[at++] = POINT;
    digits(fraction, 6);
    while (bytes[at - 1] === ZERO) at--;
  };
  const end = (): void => {
    room(1);
    bytes[at++] = COMMA;
  };
  const element =
    <T>(put: (value: T) => void): ((value: T | null) => void) =>
    (value) => {
      if (value === null) write('NULL');
      else put(value);
      end();
    };
  return {
    integer: element(integer),
    double: element(double),
    ascii: element(write),
    list(values) {
      for (const value of values) {
        if (value !== null) double(value);
        room(1);
        bytes[at++] = COLON;
      }
      end();
    },
    finish() {
      if (bytes[at - 1] === COMMA) at--;
      room(1);
      bytes[at++] = CLOSE;
      return bytes.toString('latin1', 0, at);
    },
  };
}

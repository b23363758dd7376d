import { DamagedRecord } from './damaged-record';

/**
 * Compact numbers in a blob. `unsigned`: base-128, low group first. `signed`: the same with a
 * sign in the first byte. `number`: any number or null, lossless; its two
 * low bits say the unit, so that page-sized sizes, milliseconds and small counts stay short.
 */
export interface ByteWriter {
  readonly unsigned: (value: number) => void;
  readonly signed: (value: number) => void;
  readonly number: (value: number | null) => void;
  readonly bytes: (value: Uint8Array) => void;
  /** What was written, for its own; the writer can begin anew. */
  readonly finish: () => Buffer;
}

export interface ByteReader {
  readonly unsigned: () => number;
  readonly signed: () => number;
  readonly number: () => number | null;
  readonly bytes: (length: number) => Uint8Array;
  /** Goes past what `number` would read. */
  readonly skipNumber: () => void;
  /** Bytes read so far. */
  readonly position: () => number;
  readonly atEnd: () => boolean;
}

/** Above this four times the value would no longer be a safe integer. */
const LARGEST_TAGGED = 2 ** 51 - 1;

const KIBI = 0;
const ONE = 1;
const MILLI = 2;
const MICRO = 3;
/** The two codes that their unit leaves free (0 is written as ONE). */
const CODE_NULL = KIBI;
const CODE_DOUBLE = MICRO;

function scaled(value: number, scale: number): number | null {
  const units = Math.round(value * scale);
  return units > 0 && units <= LARGEST_TAGGED && units / scale === value ? units : null;
}

function coded(value: number): number {
  if (value === 0) return ONE;
  if (Number.isInteger(value) && value > 0) {
    if (value % 1024 === 0 && value / 1024 <= LARGEST_TAGGED) return (value / 1024) * 4 + KIBI;
    if (value <= LARGEST_TAGGED) return value * 4 + ONE;
  }
  const milli = scaled(value, 1e3);
  if (milli !== null) return milli * 4 + MILLI;
  const micro = scaled(value, 1e6);
  return micro === null ? CODE_DOUBLE : micro * 4 + MICRO;
}

/** An unsigned number takes this at most. */
const LONGEST_NUMBER = 10;
const FIRST_ROOM = 256;
/** Of a writer that goes on: its blobs lie side by side in one piece of memory. */
const LATER_ROOM = 16_384;
const DOUBLE_BYTES = 8;

export function createByteWriter(): ByteWriter {
  let out = Buffer.allocUnsafe(FIRST_ROOM);
  /** What is before was given away. */
  let begin = 0;
  let length = 0;
  const makeRoom = (more: number): void => {
    if (length + more <= out.length) return;
    const wanted = length - begin + more;
    const larger = Buffer.allocUnsafe(Math.max(begin > 0 ? LATER_ROOM : 2 * out.length, wanted));
    out.copy(larger, 0, begin, length);
    out = larger;
    length -= begin;
    begin = 0;
  };
  const unsigned = (value: number): void => {
    makeRoom(LONGEST_NUMBER);
    let rest = value;
    for (; rest >= 2 ** 31; rest = Math.floor(rest / 128)) out[length++] = (rest % 128) + 128;
    for (; rest >= 128; rest >>>= 7) out[length++] = (rest & 127) | 128;
    out[length++] = rest;
  };
  const bytes = (value: Uint8Array): void => {
    makeRoom(value.length);
    out.set(value, length);
    length += value.length;
  };
  return {
    unsigned,
    signed: (value) => {
      const size = Math.abs(value);
      const rest = Math.floor(size / 64);
      makeRoom(1);
      out[length++] = (size % 64) + (value < 0 ? 64 : 0) + (rest > 0 ? 128 : 0);
      if (rest > 0) unsigned(rest);
    },
    number: (value) => {
      const code = value === null ? CODE_NULL : coded(value);
      unsigned(code);
      if (code !== CODE_DOUBLE || value === null) return;
      const double = Buffer.allocUnsafe(DOUBLE_BYTES);
      double.writeDoubleLE(value);
      bytes(double);
    },
    bytes,
    finish: () => {
      const written = out.subarray(begin, length);
      begin = length;
      return written;
    },
  };
}

/** Reads what a writer wrote. Throws DamagedRecord beyond the end. */
export function createByteReader(blob: Uint8Array): ByteReader {
  let at = 0;
  const unsigned = (): number => {
    let value = 0;
    for (let weight = 1; ; weight *= 128) {
      const byte = blob[at++];
      if (byte === undefined) throw new DamagedRecord('ends too early');
      value += (byte % 128) * weight;
      if (byte < 128) return value;
    }
  };
  const bytes = (length: number): Uint8Array => {
    if (at + length > blob.length) throw new DamagedRecord('ends too early');
    at += length;
    return blob.subarray(at - length, at);
  };
  const number = (): number | null => {
    const code = unsigned();
    if (code === CODE_NULL) return null;
    if (code === CODE_DOUBLE) return Buffer.from(bytes(DOUBLE_BYTES)).readDoubleLE();
    const units = Math.floor(code / 4);
    const unit = code % 4;
    return unit === KIBI ? units * 1024 : unit === ONE ? units : unit === MILLI ? units / 1e3 : units / 1e6;
  };
  const signed = (): number => {
    const [head = 0] = bytes(1);
    const size = (head % 64) + (head >= 128 ? unsigned() * 64 : 0);
    // Not -size: there is no negative zero.
    return head & 64 ? 0 - size : size;
  };
  const skipNumber = (): void => {
    if (blob[at] === CODE_DOUBLE) bytes(1 + DOUBLE_BYTES);
    else unsigned();
  };
  return { unsigned, signed, number, bytes, skipNumber, position: () => at, atEnd: () => at >= blob.length };
}

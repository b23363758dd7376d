import { deflateRawSync, inflateRawSync } from 'node:zlib';
import { MIB } from '../../base/units';
import { groupBy } from '../../base/group-by';

/** Readings of one source at several times, its metrics by number. null: not read at that time. */
export interface NumberedSource {
  readonly id: number;
  /** ms since the epoch. */
  readonly at: readonly number[];
  readonly columns: readonly NumberedColumn[];
}

interface NumberedColumn {
  readonly id: number;
  readonly values: readonly (number | null)[];
}

/*
 * A packed batch:
 *
 *   form            1: the rest as it is; 2: the rest deflated (RFC 1951)
 *   sources         count, then each:
 *     id, ticks     count of ticks; then each time less the one before, less the difference before that
 *     columns       count, then each:
 *       id          less the id before; signed, since sources keep their metrics in any order
 *       kind        0: numbers, each less the last one that is not missing (the first as it is)
 *                   1: one number, the same at every tick
 *                   2: doubles (NaN: missing), where a number is no integer, or too large for a difference
 *
 * Numbers are base-128, low group first; signed ones have a sign in bit 6 of their first byte, so that a negative zero
 * can be written: it says "missing".
 */
const PLAIN = 1;
const DEFLATED = 2;

const DIFFERENCES = 0;
const CONSTANT = 1;
const DOUBLES = 2;

/** The difference of two of these is a safe integer. */
const LARGEST = 2 ** 52 - 1;
/** More values than this are no batch of ours: a damaged count must not fill the memory. */
const MOST_VALUES = 16 * 1024 * 1024;
const MOST_BYTES = 64 * MIB;

type Writer = ReturnType<typeof createWriter>;

function createWriter() {
  let buffer = Buffer.allocUnsafe(1024);
  let length = 0;
  const reserve = (): void => {
    if (buffer.length - length < 16) buffer = Buffer.concat([buffer], buffer.length * 2);
  };
  const groups = (value: number): void => {
    let rest = value;
    for (; rest >= 0x80; rest = Math.floor(rest / 0x80)) buffer[length++] = (rest % 0x80) + 0x80;
    buffer[length++] = rest;
  };
  return {
    unsigned: (value: number): void => {
      reserve();
      groups(value);
    },
    /** null: missing. */
    signed: (value: number | null): void => {
      reserve();
      const size = Math.abs(value ?? 0);
      const rest = Math.floor(size / 0x40);
      buffer[length++] = (size % 0x40) + (value === null || value < 0 ? 0x40 : 0) + (rest > 0 ? 0x80 : 0);
      if (rest > 0) groups(rest);
    },
    double: (value: number): void => {
      reserve();
      length = buffer.writeDoubleLE(value, length);
    },
    finish: () => Buffer.from(buffer.subarray(0, length)),
  };
}

class Damaged extends Error {}

type Reader = ReturnType<typeof createReader>;

function createReader(bytes: Buffer) {
  let at = 0;
  const next = (): number => {
    const byte = bytes[at++];
    if (byte === undefined) throw new Damaged();
    return byte;
  };
  const unsigned = (): number => {
    let value = 0;
    for (let weight = 1; ; weight *= 0x80) {
      const byte = next();
      value += (byte & 0x7f) * weight;
      if (weight > LARGEST || value > Number.MAX_SAFE_INTEGER) throw new Damaged();
      if (byte < 0x80) return value;
    }
  };
  return {
    unsigned,
    /** null: missing. */
    signed: (): number | null => {
      const head = next();
      const size = (head & 0x3f) + (head & 0x80 ? unsigned() * 0x40 : 0);
      if ((head & 0x40) === 0) return size;
      return size === 0 ? null : -size;
    },
    double: (): number => {
      if (at + 8 > bytes.length) throw new Damaged();
      at += 8;
      return bytes.readDoubleLE(at - 8);
    },
    atEnd: () => at === bytes.length,
  };
}

function kindOf(values: readonly (number | null)[]): number {
  if (!values.every((value) => value === null || (Number.isInteger(value) && Math.abs(value) <= LARGEST)))
    return DOUBLES;
  return values.length > 1 && values.every((value) => value === values[0]) ? CONSTANT : DIFFERENCES;
}

function writeColumn(writer: Writer, values: readonly (number | null)[]): void {
  const kind = kindOf(values);
  writer.unsigned(kind);
  if (kind === DOUBLES) for (const value of values) writer.double(value ?? Number.NaN);
  else if (kind === CONSTANT) writer.signed(values[0] ?? null);
  else {
    let last = 0;
    for (const value of values) {
      writer.signed(value === null ? null : value - last);
      last = value ?? last;
    }
  }
}

function readColumn(reader: Reader, ticks: number): readonly (number | null)[] {
  const kind = reader.unsigned();
  // One stands for all: they are filled in once all of the batch is known to be sound.
  if (kind === CONSTANT) return [reader.signed()];
  if (kind === DOUBLES)
    return Array.from({ length: ticks }, () => {
      const value = reader.double();
      return Number.isNaN(value) ? null : value;
    });
  if (kind !== DIFFERENCES) throw new Damaged();
  let last = 0;
  return Array.from({ length: ticks }, () => {
    const difference = reader.signed();
    return difference === null ? null : (last += difference);
  });
}

/** Packs readings; times count from `base` (ms since the epoch). `further`: compresses, for rows that are final. */
export function packSeries(base: number, sources: readonly NumberedSource[], further = false): Buffer {
  const writer = createWriter();
  writer.unsigned(sources.length);
  for (const { id, at, columns } of sources) {
    writer.unsigned(id);
    writer.unsigned(at.length);
    let last = base;
    let step = 0;
    for (const time of at) {
      writer.signed(time - last - step);
      step = time - last;
      last = time;
    }
    writer.unsigned(columns.length);
    let lastId = 0;
    for (const column of columns) {
      writer.signed(column.id - lastId);
      lastId = column.id;
      writeColumn(writer, column.values);
    }
  }
  const body = writer.finish();
  return further
    ? Buffer.concat([Buffer.of(DEFLATED), deflateRawSync(body, { level: 9 })])
    : Buffer.concat([Buffer.of(PLAIN), body]);
}

function readSources(reader: Reader, base: number): readonly NumberedSource[] {
  let values = 0;
  const sources: NumberedSource[] = [];
  for (let left = reader.unsigned(); left > 0; left--) {
    const id = reader.unsigned();
    const at: number[] = [];
    let last = base;
    let step = 0;
    for (let ticks = reader.unsigned(); ticks > 0; ticks--) {
      step += reader.signed() ?? 0;
      last += step;
      at.push(last);
    }
    const columns: NumberedColumn[] = [];
    let columnId = 0;
    for (let count = reader.unsigned(); count > 0; count--) {
      values += at.length;
      if (values > MOST_VALUES) throw new Damaged();
      columnId += reader.signed() ?? 0;
      columns.push({ id: columnId, values: readColumn(reader, at.length) });
    }
    sources.push({ id, at, columns });
  }
  if (!reader.atEnd()) throw new Damaged();
  return sources.map(({ id, at, columns }) => ({
    id,
    at,
    columns: columns.map((column) =>
      column.values.length === at.length
        ? column
        : { id: column.id, values: new Array<number | null>(at.length).fill(column.values[0] ?? null) },
    ),
  }));
}

/** What packSeries packed, given the same base; null where it is damaged or of an unknown form. */
export function unpackSeries(base: number, packed: Uint8Array): readonly NumberedSource[] | null {
  try {
    const body = Buffer.from(packed.buffer, packed.byteOffset + 1, Math.max(0, packed.byteLength - 1));
    if (packed[0] === PLAIN) return readSources(createReader(body), base);
    if (packed[0] !== DEFLATED) return null;
    return readSources(createReader(inflateRawSync(body, { maxOutputLength: MOST_BYTES })), base);
  } catch {
    // Damaged, or zlib's error for that.
    return null;
  }
}

/** Merges batches: each source once, its times in order; the same time twice counts as two readings. */
export function mergeSeries(batches: readonly (readonly NumberedSource[])[]): readonly NumberedSource[] {
  return [...groupBy(batches.flat(), ({ id }) => id)].map(([id, parts]) => mergeSource(id, parts));
}

function mergeSource(id: number, parts: readonly NumberedSource[]): NumberedSource {
  const times = parts.flatMap(({ at }) => at);
  const order = times.map((_, index) => index).sort((a, b) => (times[a] ?? 0) - (times[b] ?? 0));
  const columns = new Map<number, (number | null)[]>();
  let tick = 0;
  for (const part of parts) {
    for (const column of part.columns) {
      const values = columns.get(column.id) ?? new Array<number | null>(times.length).fill(null);
      columns.set(column.id, values);
      for (const [index, value] of column.values.entries()) values[tick + index] = value;
    }
    tick += part.at.length;
  }
  return {
    id,
    at: order.map((index) => times[index] ?? 0),
    columns: [...columns].map(([column, values]): NumberedColumn => ({
      id: column,
      values: order.map((index) => values[index] ?? null),
    })),
  };
}

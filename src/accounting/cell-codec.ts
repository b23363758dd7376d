import { isoTime } from '../base/iso-time';
import { remembered } from '../base/remembered';
import { checkJson, type Shape } from '../base/shape';
import type { Storage, WordList } from '../record/fields';
import { isEmpty, type TableValue } from '../record/plain-columns';

/** How single values are kept in a store's columns. */

export type Cell = number | string | null;

export interface Column {
  readonly name: string;
  readonly type: 'integer' | 'real' | 'text';
  /** For an integer: it is always below 100. */
  readonly small?: boolean;
  /** For a text: most values are whole numbers, for which SQLite needs half the space. */
  readonly mostlyInteger?: boolean;
  /** The column holds numbers of strings in this dictionary. */
  readonly dictionary?: Dictionary;
  /** The column holds places in this list. */
  readonly choice?: readonly string[];
  readonly help: string;
}

/** Dictionaries of a store: of the fields' words, of JSON values that repeat as a whole, and of roll-ups (SQLite). */
export type Dictionary =
  WordList | 'bracket_basis' | 'request_set' | 'metric_set' | 'notes' | 'provenance' | 'name_class' | 'rollup_key';

/** Strings as small numbers, and back. */
export interface WordCodec {
  /** The number of a string, made if the string is new: call it only inside a write transaction. */
  readonly intern: (dictionary: Dictionary, text: string) => number;
  readonly text: (dictionary: Dictionary, id: number) => string;
}

/** How a value is kept in the cells of its columns. `read` throws RangeError on cells that no writer makes. */
export interface CellCodec {
  readonly columns: readonly Column[];
  readonly write: (value: unknown, words: WordCodec) => readonly Cell[];
  readonly read: (cells: readonly Cell[], at: number, words: WordCodec) => unknown;
  /** For reading few fields of many records: fewer columns, and less of the value. */
  readonly brief?: Pick<CellCodec, 'columns' | 'read'>;
  /** Reads what a table shows of the value, or of a member, without the rest that `read` makes. */
  readonly plain: (member?: string) => PlainCell;
}

/** How one cell of a table is read from the cells of a value. */
export interface PlainCell {
  /** The first cell that is read, counted from the value's first. */
  readonly at: number;
  /** The result depends on that cell alone, and many rows have the same. */
  readonly repeated: boolean;
  readonly read: (cells: readonly Cell[], at: number, words: WordCodec) => TableValue;
}

/** The value of a store's JSON text. Throws RangeError if it does not have that shape. */
export function fromJson<T>(shape: Shape<T>, json: string, what: string): T {
  const read = checkJson(shape, json, what);
  if (!read.ok) throw new RangeError(read.error);
  return read.value;
}

/** A cell as a number; null: NULL. Throws RangeError on a text. */
export function numberIn(cell: Cell | undefined, column: string): number | null {
  if (typeof cell === 'string') throw new RangeError(`${column} has "${cell}", which is not a number`);
  return cell ?? null;
}

/** A cell as a text; null: NULL. Throws RangeError on a number. */
export function textIn(cell: Cell | undefined, column: string): string | null {
  if (typeof cell === 'number') throw new RangeError(`${column} has ${cell}, which is not a text`);
  return cell ?? null;
}

/** Reads a column of numbers; null: NULL. Throws RangeError on a text. */
export const ofNumber =
  (column: string, make: (cell: number, words: WordCodec) => TableValue): PlainCell['read'] =>
  (cells, at, words) => {
    const cell = numberIn(cells[at], column);
    return cell === null ? null : make(cell, words);
  };

/** A column of numbers. `write` never gets null; `plain`: given if a table shows something else than `read` makes. */
function numeric(
  column: Column,
  write: (value: never, words: WordCodec) => number,
  read: (cell: number, words: WordCodec) => TableValue,
  plain = read,
): CellCodec {
  return {
    plain: () => ({ at: 0, repeated: column.dictionary !== undefined, read: ofNumber(column.name, plain) }),
    columns: [column],
    write: (value, words) => [value === null ? null : write(value as never, words)],
    read: ofNumber(column.name, read),
  };
}

/** A column of texts, which a table shows as they are. */
function textual(column: Column, write: (value: never) => string, read: (cell: string) => unknown): CellCodec {
  return {
    plain: () => ({
      at: 0,
      repeated: false,
      read: (cells, at) => {
        const cell = textIn(cells[at], column.name);
        return cell === null || isEmpty(read(cell)) ? null : cell;
      },
    }),
    columns: [column],
    write: (value) => [value === null ? null : write(value as never)],
    read: (cells, at) => {
      const cell = textIn(cells[at], column.name);
      return cell === null ? null : read(cell);
    },
  };
}

export function msOf(time: string): number {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new RangeError(`"${time}" is not a time`);
  return ms;
}

/** Keeps the last text: the tasks of an array were all submitted at the same time. */
function timeOf(): (cell: number) => string {
  let latest = { cell: 0, text: isoTime(0) };
  return (cell) => {
    if (cell !== latest.cell) latest = { cell, text: isoTime(cell) };
    return latest.text;
  };
}

const same = <T>(value: T): T => value;

/** A copy of plain data: V8 copies it (`{ ...x }`) faster, into smaller objects, than one that grew by members. */
export const compactCopy = <T extends object>(value: T): T => JSON.parse(JSON.stringify(value)) as T;

const MOST_KNOWN = 10_000;

/** `fromJson` for texts of a dictionary, which repeat in many rows: keeps the values, which nobody may change. */
export const repeatedJson = <T>(shape: Shape<T>, name: string): ((text: string) => T) =>
  remembered((text) => fromJson(shape, text, name), MOST_KNOWN);

export function leafCodec(name: string, shape: Shape<unknown>, storage: Storage, help: string): CellCodec {
  switch (storage.as) {
    case 'integer':
    case 'real':
      return numeric({ name, type: storage.as, help }, same, same);
    case 'text':
      return textual({ name, type: 'text', help }, same, same);
    case 'seconds':
      return numeric(
        { name: name.replace(/_seconds$/, '_ms'), type: 'integer', help: `${help}, in ms` },
        (value: number) => Math.round(value * 1000),
        (cell) => cell / 1000,
      );
    case 'time':
      return numeric(
        { name, type: 'integer', help: `${help} (ms since the epoch)` },
        (value: string) => msOf(value),
        timeOf(),
        same,
      );
    case 'choice': {
      const { of } = storage;
      const listed = of.map((item, index) => `${index} ${item}`).join(', ');
      return numeric(
        { name, type: 'integer', small: true, choice: of, help: `${help}: ${listed}` },
        (value: string) => of.indexOf(value),
        (cell) => {
          const item = of[cell];
          if (item === undefined) throw new RangeError(`${name} has the unknown code ${cell}`);
          return item;
        },
      );
    }
    case 'word': {
      const { dictionary } = storage;
      return numeric(
        { name: `${name}_id`, type: 'integer', dictionary, help },
        (value: string, words) => words.intern(dictionary, value),
        (cell, words) => words.text(dictionary, cell),
      );
    }
    case 'json':
      return textual(
        { name, type: 'text', help: `${help} (JSON)` },
        (value: unknown) => JSON.stringify(value),
        (cell) => fromJson(shape, cell, name),
      );
  }
}

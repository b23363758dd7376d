import {
  FIELD_NAMES,
  FIELDS,
  type Bracket,
  type Field,
  type FieldName,
  type Leaf,
  type Storage,
} from '../record/fields';
import type { WordList } from '../record/fields';
import { joinNote, splitNote } from './note-template';

/** The fields of the record as plain columns of a store, made from the table of fields. */

export type Cell = number | string | null;

export interface Column {
  readonly name: string;
  readonly type: 'integer' | 'real' | 'text';
  /** Of an integer: it is a number below 100. */
  readonly small?: boolean;
  /** The number of a string in this dictionary. */
  readonly dictionary?: Dictionary;
  readonly help: string;
}

/** Dictionaries of a store: those of the fields, and of what repeats as a whole (JSON). */
export type Dictionary = WordList | 'bracket_basis' | 'requests' | 'metric_set' | 'notes' | 'provenance' | 'name_class';

/** Strings as small numbers, and back. */
export interface WordCodec {
  /** The number of a string, made where new: inside a write transaction only. */
  readonly intern: (dictionary: Dictionary, text: string) => number;
  readonly text: (dictionary: Dictionary, id: number) => string;
}

/** A value as the cells of its columns. `read` throws RangeError on cells that no writer makes. */
interface CellCodec {
  readonly columns: readonly Column[];
  readonly write: (value: unknown, words: WordCodec) => readonly Cell[];
  readonly read: (cells: readonly Cell[], at: number, words: WordCodec) => unknown;
}

function one(
  column: Column,
  write: (value: never, words: WordCodec) => Cell,
  read: (cell: never, words: WordCodec) => unknown,
): CellCodec {
  return {
    columns: [column],
    write: (value, words) => [value === null ? null : write(value as never, words)],
    read: (cells, at, words) => {
      const cell = cells[at] ?? null;
      return cell === null ? null : read(cell as never, words);
    },
  };
}

function msOf(time: string): number {
  const ms = Date.parse(time);
  if (Number.isNaN(ms)) throw new RangeError(`"${time}" is no time`);
  return ms;
}

const same = <T>(value: T): T => value;

/** Of the texts of dictionaries that are JSON: few, and each is in many rows. */
const parsed = new Map<string, unknown>();
const MOST_PARSED = 10_000;

/** What a JSON text of a dictionary says, parsed once; nobody changes it. Throws SyntaxError. */
export function parseRepeated(text: string): unknown {
  const known = parsed.get(text);
  if (known !== undefined) return known;
  const value = JSON.parse(text) as unknown;
  if (parsed.size >= MOST_PARSED) parsed.clear();
  parsed.set(text, value);
  return value;
}

function leafCodec(name: string, storage: Storage, help: string): CellCodec {
  switch (storage.as) {
    case 'integer':
    case 'real':
    case 'text':
      return one({ name, type: storage.as, help }, same, same);
    case 'seconds':
      return one(
        { name: name.replace(/_seconds$/, '_ms'), type: 'integer', help: `${help}, in ms` },
        (value: number) => Math.round(value * 1000),
        (cell: number) => cell / 1000,
      );
    case 'time':
      return one(
        { name, type: 'integer', help: `${help} (ms since the epoch)` },
        (value: string) => msOf(value),
        (cell: number) => new Date(cell).toISOString(),
      );
    case 'choice': {
      const { of } = storage;
      const listed = of.map((item, index) => `${index} ${item}`).join(', ');
      return one(
        { name, type: 'integer', small: true, help: `${help}: ${listed}` },
        (value: string) => of.indexOf(value),
        (cell: number) => {
          const item = of[cell];
          if (item === undefined) throw new RangeError(`${name} has the unknown code ${cell}`);
          return item;
        },
      );
    }
    case 'word': {
      const { dictionary } = storage;
      return wordCodec(name, dictionary, help);
    }
    case 'json':
      return one(
        { name, type: 'text', help: `${help} (JSON)` },
        (value: unknown) => JSON.stringify(value),
        (cell: string) => JSON.parse(cell) as unknown,
      );
  }
}

function wordCodec(name: string, dictionary: Dictionary, help: string): CellCodec {
  return one(
    { name: `${name}_id`, type: 'integer', dictionary, help },
    (value: string, words) => words.intern(dictionary, value),
    (cell: number, words) => words.text(dictionary, cell),
  );
}

/** An object as the columns of its members, all null where there is none. */
function memberCodec(prefix: string, members: Readonly<Record<string, Leaf<unknown>>>, help: string): CellCodec {
  const codecs = Object.entries(members).map(([member, { storage }]) => ({
    member,
    codec: leafCodec(`${prefix}_${member}`, storage, help),
  }));
  return {
    columns: codecs.flatMap(({ codec }) => codec.columns),
    write: (value, words) =>
      codecs.flatMap(({ member, codec }) =>
        codec.write((value as Readonly<Record<string, unknown>> | null)?.[member] ?? null, words),
      ),
    read: (cells, at, words) => {
      if (codecs.every((_codec, index) => (cells[at + index] ?? null) === null)) return null;
      return Object.fromEntries(
        codecs.map(({ member, codec }, index) => [member, codec.read(cells, at + index, words)] as const),
      );
    },
  };
}

/** Ends, slack, time and command of a peak; how it was found repeats: `{proved, exact, open, sources}`. */
function bracketCodec(name: string, help: string): CellCodec {
  const column = (part: string, what: string): Column => ({
    name: `${name}_${part}`,
    type: 'integer',
    help: `${help}: ${what}`,
  });
  return {
    columns: [
      column('lower_bytes', 'lower bound'),
      column('upper_bytes', 'upper bound; NULL: open'),
      column('slack_bytes', "error of the kernel's counters, inside both bounds"),
      column('at', 'when the lower bound was seen (ms since the epoch)'),
      { ...column('command_id', 'largest process'), dictionary: 'command' },
      { ...column('basis_id', 'what the bounds rest on'), dictionary: 'bracket_basis' },
    ],
    write: (value, words) => {
      if (value === null) return [null, null, null, null, null, null];
      const { lower_bytes, upper_bytes, slack_bytes, proved, exact, open, sources, at, command } = value as Bracket;
      return [
        lower_bytes,
        upper_bytes,
        slack_bytes,
        at === null ? null : msOf(at),
        command === null ? null : words.intern('command', command),
        words.intern('bracket_basis', JSON.stringify({ proved, exact, open, sources })),
      ];
    },
    read: (cells, at, words) => {
      const lower = cells[at];
      if (typeof lower !== 'number') return null;
      const [seen, command, basis] = [cells[at + 3], cells[at + 4], cells[at + 5]];
      const { proved, exact, open, sources } = parseRepeated(words.text('bracket_basis', Number(basis))) as Bracket;
      return {
        lower_bytes: lower,
        upper_bytes: cells[at + 1] ?? null,
        slack_bytes: cells[at + 2] ?? 0,
        proved,
        exact,
        open,
        sources,
        at: typeof seen === 'number' ? new Date(seen).toISOString() : null,
        command: typeof command === 'number' ? words.text('command', command) : null,
      };
    },
  };
}

const isEmpty = (value: object): boolean => Object.keys(value).length === 0;

/** All memory requests of a job: of many jobs the same. */
function requestsCodec(name: string, help: string): CellCodec {
  return {
    columns: [{ name: `${name}_id`, type: 'integer', dictionary: 'requests', help }],
    write: (value, words) => [isEmpty(value as object) ? null : words.intern('requests', JSON.stringify(value))],
    read: (cells, at, words) => (typeof cells[at] === 'number' ? parseRepeated(words.text('requests', cells[at])) : {}),
  };
}

/** The names repeat; the values, in their order, are the record's. */
function metricsCodec(help: string): CellCodec {
  return {
    columns: [
      { name: 'metric_set_id', type: 'integer', dictionary: 'metric_set', help: `${help}: names (JSON)` },
      { name: 'metric_values', type: 'text', help: `${help}: values in the order of the names (JSON)` },
    ],
    write: (value, words) =>
      isEmpty(value as object)
        ? [null, null]
        : [
            words.intern('metric_set', JSON.stringify(Object.keys(value as object))),
            JSON.stringify(Object.values(value as object)),
          ],
    read: (cells, at, words) => {
      const [set, values] = [cells[at], cells[at + 1]];
      if (typeof set !== 'number' || typeof values !== 'string') return {};
      const names = parseRepeated(words.text('metric_set', set)) as readonly string[];
      const figures = JSON.parse(values) as readonly number[];
      return Object.fromEntries(names.map((metric, index) => [metric, figures[index] ?? 0]));
    },
  };
}

/** Notes repeat but for their numbers. */
function notesCodec(name: string, help: string): CellCodec {
  return {
    columns: [
      {
        name: `${name}_id`,
        type: 'integer',
        dictionary: 'notes',
        help: `${help}: texts with \\u0001 for each number (JSON)`,
      },
      { name: 'note_numbers', type: 'text', help: `${help}: the numbers of each text (JSON)` },
    ],
    write: (value, words) => {
      const notes = (value as readonly string[]).map(splitNote);
      if (notes.length === 0) return [null, null];
      const numbers = notes.map((note) => note.numbers);
      return [
        words.intern('notes', JSON.stringify(notes.map(({ template }) => template))),
        numbers.every(({ length }) => length === 0) ? null : JSON.stringify(numbers),
      ];
    },
    read: (cells, at, words) => {
      const [id, given] = [cells[at], cells[at + 1]];
      if (typeof id !== 'number') return [];
      const templates = parseRepeated(words.text('notes', id)) as readonly string[];
      const numbers = typeof given === 'string' ? (JSON.parse(given) as readonly (readonly number[])[]) : [];
      return templates.map((template, index) => joinNote({ template, numbers: numbers[index] ?? [] }));
    },
  };
}

/** A field that has a table of its own. */
const ELSEWHERE: CellCodec = { columns: [], write: () => [], read: () => null };

function fieldCodec(name: FieldName): CellCodec {
  const { storage, help }: Pick<Field, 'storage' | 'help'> = FIELDS[name];
  switch (storage.as) {
    case 'members':
      return memberCodec(storage.prefix ?? name, storage.of, help);
    case 'bracket':
      return bracketCodec(name, help);
    case 'requests':
      return requestsCodec(name, help);
    case 'metrics':
      return metricsCodec(help);
    case 'notes':
      return notesCodec(name, help);
    case 'series':
      return ELSEWHERE;
    case 'integer':
    case 'real':
    case 'seconds':
    case 'time':
    case 'text':
    case 'json':
    case 'choice':
    case 'word':
      return leafCodec(name, storage, help);
  }
}

/** Every field with its columns, in the table's order. */
export const FIELD_CODECS: readonly { readonly name: FieldName; readonly codec: CellCodec }[] = FIELD_NAMES.map(
  (name) => ({
    name,
    codec: fieldCodec(name),
  }),
);

import { isoTime } from '../base/iso-time';
import { list, number, object, string, type Shape } from '../base/shape';
import {
  BRACKET,
  FIELD_NAMES,
  FIELDS,
  type Bracket,
  type Field,
  type FieldName,
  type Leaf,
  type Members,
} from '../record/fields';
import { flat, isEmpty, type TableValue } from '../record/plain-columns';
import {
  compactCopy,
  fromJson,
  leafCodec,
  msOf,
  numberIn,
  ofNumber,
  repeatedJson,
  textIn,
  type Cell,
  type CellCodec,
  type Column,
  type PlainCell,
  type WordCodec,
} from './cell-codec';
import { joinNote, splitNote } from './note-template';

/** The fields of the record as plain columns of a store, made from the table of fields. */

const memberHelp = (field: string, { help }: Pick<Leaf<unknown>, 'help'>): string =>
  help === undefined ? field : `${field}: ${help}`;

function isSame(known: readonly Cell[], cells: readonly Cell[], at: number): boolean {
  for (let index = 0; index < known.length; index++) if (known[index] !== cells[at + index]) return false;
  return true;
}

interface MemberCodec {
  readonly member: string;
  readonly codec: CellCodec;
}

/** Reads an object from the cells of its members. */
function readerOf(codecs: readonly MemberCodec[], empty: Readonly<Record<string, unknown>>): CellCodec['read'] {
  const membersOf = (
    cells: readonly Cell[],
    at: number,
    words: WordCodec,
  ): Readonly<Record<string, unknown>> | null => {
    let value: Record<string, unknown> | null = null;
    for (let index = 0; index < codecs.length; index++) {
      if ((cells[at + index] ?? null) === null) continue;
      const one = codecs[index];
      value ??= { ...empty };
      if (one !== undefined) value[one.member] = one.codec.read(cells, at + index, words);
    }
    return value;
  };
  /** The last value: the tasks of an array mostly have the same, so it is made once. */
  let latest: { readonly words: WordCodec; readonly cells: readonly Cell[]; readonly value: unknown } | null = null;
  return (cells, at, words) => {
    if (latest?.words === words && isSame(latest.cells, cells, at)) return latest.value;
    const value = membersOf(cells, at, words);
    latest = { words, cells: cells.slice(at, at + codecs.length), value };
    return value;
  };
}

const columnsOf = (codecs: readonly MemberCodec[]): readonly Column[] => codecs.flatMap(({ codec }) => codec.columns);

/** An object as the columns of its members, all NULL if there is no object. */
function memberCodec(prefix: string, { of: members, brief }: Pick<Members, 'of' | 'brief'>, help: string): CellCodec {
  const codecs = Object.entries(members).map(([member, leaf]) => ({
    member,
    codec: leafCodec(`${prefix}_${member}`, leaf, leaf.storage, memberHelp(help, leaf)),
  }));
  const empty = compactCopy(Object.fromEntries(codecs.map(({ member }) => [member, null])));
  const few = brief && codecs.filter(({ member }) => brief.includes(member));
  return {
    columns: columnsOf(codecs),
    plain: (wanted) => {
      const index = codecs.findIndex(({ member }) => member === wanted);
      const cell = codecs[index]?.codec.plain();
      if (cell === undefined) throw new RangeError(`${prefix} has no member ${wanted ?? ''}`);
      return { ...cell, at: index };
    },
    write: (value, words) =>
      codecs.flatMap(({ member, codec }) =>
        codec.write((value as Readonly<Record<string, unknown>> | null)?.[member] ?? null, words),
      ),
    read: readerOf(codecs, empty),
    ...(few && { brief: { columns: columnsOf(few), read: readerOf(few, empty) } }),
  };
}

/** A cell that is the number of a string. */
const wordCell = (at: number, name: string, text: (id: number, words: WordCodec) => TableValue): PlainCell => ({
  at,
  repeated: true,
  read: ofNumber(name, text),
});

/** What a peak's bounds rest on: its basis, a text that many peaks share. */
const basisShape = object({
  proved: BRACKET.proved,
  exact: BRACKET.exact,
  open: BRACKET.open,
  sources: BRACKET.sources,
});
/** The members of a peak with a column of numbers, in the order of the columns. */
const BRACKET_NUMBERS = ['lower_bytes', 'upper_bytes', 'slack_bytes', 'at'];

/** The columns of a peak that are read in brief: its ends and its basis. */
const BRIEF_BRACKET = [0, 1, 5];

/** A peak as ends, slack, time, command and, from a dictionary, its basis `{proved, exact, open, sources}`. */
function bracketCodec(name: string, help: string): CellCodec {
  const basisOf = repeatedJson(basisShape, name);
  const column = (part: string, what: string): Column => ({
    name: `${name}_${part}`,
    type: 'integer',
    help: `${help}: ${what}`,
  });
  const columns: readonly Column[] = [
    column('lower_bytes', BRACKET.lower_bytes.help),
    column('upper_bytes', BRACKET.upper_bytes.help),
    column('slack_bytes', BRACKET.slack_bytes.help),
    column('at', `${BRACKET.at.help} (ms since the epoch)`),
    { ...column('command_id', BRACKET.command.help), dictionary: 'command' },
    { ...column('basis_id', BRACKET.sources.help), dictionary: 'bracket_basis' },
  ];
  const numberAt = (cell: Cell | undefined): number | null => numberIn(cell, name);
  /** The ends are in the cells from `at` on; `command` and `basis` are numbers in dictionaries. */
  const bracketOf = (
    cells: readonly Cell[],
    at: number,
    words: WordCodec,
    others: { slack_bytes: number; at: number | null; command: number | null; basis: number | null },
  ): Bracket | null => {
    const lower = numberAt(cells[at]);
    if (lower === null) return null;
    const basis = basisOf(words.text('bracket_basis', others.basis ?? 0));
    // Lists read many of these: to spread `basis` would take several times as long.
    return {
      lower_bytes: lower,
      upper_bytes: numberAt(cells[at + 1]),
      slack_bytes: others.slack_bytes,
      proved: basis.proved,
      exact: basis.exact,
      open: basis.open,
      sources: basis.sources,
      at: others.at === null ? null : isoTime(others.at),
      command: others.command === null ? null : words.text('command', others.command),
    };
  };
  return {
    columns,
    plain: (member = '') => {
      const at = BRACKET_NUMBERS.indexOf(member);
      if (at >= 0) return { at, repeated: false, read: (cells, place) => numberIn(cells[place], name) };
      if (member === 'command') return wordCell(4, name, (id, words) => words.text('command', id));
      return wordCell(5, name, (id, words) => {
        const basis: Readonly<Record<string, unknown>> = basisOf(words.text('bracket_basis', id));
        return flat(basis[member]);
      });
    },
    write: (value, words) => {
      if (value === null) return [null, null, null, null, null, null];
      const { lower_bytes, upper_bytes, slack_bytes, at, command, proved, exact, open, sources } = value as Bracket;
      return [
        lower_bytes,
        upper_bytes,
        slack_bytes,
        at === null ? null : msOf(at),
        command === null ? null : words.intern('command', command),
        words.intern('bracket_basis', JSON.stringify({ proved, exact, open, sources })),
      ];
    },
    read: (cells, at, words) =>
      bracketOf(cells, at, words, {
        slack_bytes: numberAt(cells[at + 2]) ?? 0,
        at: numberAt(cells[at + 3]),
        command: numberAt(cells[at + 4]),
        basis: numberAt(cells[at + 5]),
      }),
    brief: {
      columns: BRIEF_BRACKET.flatMap((index) => columns[index] ?? []),
      read: (cells, at, words) =>
        bracketOf(cells, at, words, { slack_bytes: 0, at: null, command: null, basis: numberAt(cells[at + 2]) }),
    },
  };
}

/** A list or a map that `read` makes from several cells; null: empty. */
const jsonCells = (read: CellCodec['read']): PlainCell => ({
  at: 0,
  repeated: false,
  read: (cells, at, words) => {
    const value = read(cells, at, words);
    return value === null || isEmpty(value) ? null : JSON.stringify(value);
  },
});

const NO_REQUESTS = {};

/** All memory requests of a job, in a dictionary, since many jobs have the same. */
function requestsCodec(name: string, help: string): CellCodec {
  const requestsOf = repeatedJson(FIELDS.requests.shape, name);
  return {
    columns: [{ name: 'request_set_id', type: 'integer', dictionary: 'request_set', help: `${help} (JSON)` }],
    plain: () => wordCell(0, name, (id, words) => JSON.stringify(requestsOf(words.text('request_set', id)))),
    write: (value, words) => [isEmpty(value) ? null : words.intern('request_set', JSON.stringify(value))],
    read: (cells, at, words) => {
      const id = numberIn(cells[at], name);
      return id === null ? NO_REQUESTS : requestsOf(words.text('request_set', id));
    },
  };
}

const NAMES = list(string);
const FIGURES = list(number());

/** Reads a list of names as metrics that are all 0. */
const metricSet: Shape<Readonly<Record<string, number>>> = {
  schema: NAMES.schema,
  read: (value) => compactCopy(Object.fromEntries(NAMES.read(value).map((metric) => [metric, 0]))),
};

/** The names repeat, so they go to a dictionary; the record has the values, in the order of the names. */
function metricsCodec(help: string): CellCodec {
  const setOf = repeatedJson(metricSet, 'metric_set');
  const read: CellCodec['read'] = (cells, at, words) => {
    const [set, values] = [numberIn(cells[at], 'metric_set_id'), textIn(cells[at + 1], 'metric_values')];
    if (set === null || values === null) return {};
    const metrics: Record<string, number> = { ...setOf(words.text('metric_set', set)) };
    const figures = fromJson(FIGURES, values, 'metric_values');
    for (const [index, metric] of Object.keys(metrics).entries()) metrics[metric] = figures[index] ?? 0;
    return metrics;
  };
  return {
    plain: () => jsonCells(read),
    columns: [
      { name: 'metric_set_id', type: 'integer', dictionary: 'metric_set', help: `${help}: names (JSON)` },
      { name: 'metric_values', type: 'text', help: `${help}: values in the order of the names (JSON)` },
    ],
    write: (value, words) =>
      isEmpty(value)
        ? [null, null]
        : [
            words.intern('metric_set', JSON.stringify(Object.keys(value as object))),
            JSON.stringify(Object.values(value as object)),
          ],
    read,
  };
}

/** Notes repeat except for their numbers: the texts go to a dictionary, the record has the numbers. */
function notesCodec(name: string, help: string): CellCodec {
  const templatesOf = repeatedJson(NAMES, name);
  const read: CellCodec['read'] = (cells, at, words) => {
    const [id, given] = [numberIn(cells[at], name), textIn(cells[at + 1], 'note_numbers')];
    if (id === null) return [];
    const templates = templatesOf(words.text('notes', id));
    const numbers = given === null ? [] : fromJson(list(list(number())), given, 'note_numbers');
    return templates.map((template, index) => joinNote({ template, numbers: numbers[index] ?? [] }));
  };
  return {
    plain: () => jsonCells(read),
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
    read,
  };
}

/** A field that has a table of its own. */
const ELSEWHERE: CellCodec = { columns: [], write: () => [], read: () => null, plain: () => jsonCells(() => null) };

function fieldCodec(name: FieldName): CellCodec {
  const { shape, storage, help }: Pick<Field, 'shape' | 'storage' | 'help'> = FIELDS[name];
  switch (storage.as) {
    case 'members':
      return memberCodec(storage.prefix ?? name, storage, help);
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
      return leafCodec(name, shape, storage, help);
  }
}

/** Every field with its columns, in the table's order. */
export const FIELD_CODECS: readonly { readonly name: FieldName; readonly codec: CellCodec }[] = FIELD_NAMES.map(
  (name) => ({
    name,
    codec: fieldCodec(name),
  }),
);

import type { ColumnType, TableColumn } from '../record/plain-columns';
import { isoTime } from '../base/iso-time';
import type { PartFormat } from './format';
import type { Columns } from './table';

/** How a column is written in a line. */
export interface LineColumn {
  /** The text before each of its values. */
  readonly before: string;
  readonly type: ColumnType;
}

/** How values are written: escaping of texts and JSON, the form of times, the word for null. */
interface LineText {
  readonly text: (value: string) => string;
  readonly json: (value: string) => string;
  readonly time: (iso: string) => string;
  readonly none: string;
}

/** The texts of a column's values, each with the text before it. */
function textsOf(column: TableColumn, { before, type }: LineColumn, how: LineText): readonly string[] {
  const nothing = before + how.none;
  const escape = type === 'json' ? how.json : how.text;
  const known = new Map<string, string>();
  const escaped = (value: string): string => {
    const made = known.get(value) ?? before + escape(value);
    known.set(value, made);
    return made;
  };
  return column.map((value) => {
    if (value === null) return nothing;
    if (typeof value === 'string') return escaped(value);
    return before + (type === 'time' ? how.time(isoTime(Number(value))) : String(value));
  });
}

/** Whether a column has the same value in every row. */
const isConstant = (values: TableColumn): boolean => values.every((value) => value === values[0]);

/** The texts of a page by column; a constant column is merged into the text before the next column. */
function textColumns(
  columns: readonly LineColumn[],
  values: readonly TableColumn[],
  how: LineText,
): { readonly texts: readonly (readonly string[])[]; readonly rest: string } {
  const texts: (readonly string[])[] = [];
  let constant = '';
  for (const [index, { before, type }] of columns.entries()) {
    const column = values[index] ?? [];
    if (isConstant(column)) {
      constant += textsOf(column.slice(0, 1), { before, type }, how)[0] ?? before + how.none;
      continue;
    }
    texts.push(textsOf(column, { before: constant + before, type }, how));
    constant = '';
  }
  return { texts, rest: constant };
}

/** The form of lines: the values of `columns`, each with the text before it, then `end`. `head`: before all lines. */
interface LineKind {
  readonly head: string;
  readonly columns: readonly LineColumn[];
  readonly end: string;
  readonly how: LineText;
}

/** A UTF-16 code unit takes at most this many bytes in UTF-8. */
const MOST = 3;

/** Collects texts as UTF-8, in given memory while it suffices: allocating memory takes longer than filling it. */
class TextBytes {
  private memory: Buffer<ArrayBuffer>;
  private length = 0;

  constructor(memory: ArrayBuffer) {
    this.memory = Buffer.from(memory);
  }

  get bytes(): Buffer<ArrayBuffer> {
    return this.memory.subarray(0, this.length);
  }

  add(text: string): void {
    const needed = this.length + MOST * text.length;
    if (needed > this.memory.length) {
      const larger = Buffer.from(new ArrayBuffer(2 * needed));
      this.memory.copy(larger, 0, 0, this.length);
      this.memory = larger;
    }
    this.length += this.memory.write(text, this.length);
  }
}

/** Adds line by line, as joining many lines into one text first would copy them once more. */
function addLines({ columns: values, rows }: Columns, { columns, end, how }: LineKind, bytes: TextBytes): void {
  const { texts, rest } = textColumns(columns, values, how);
  for (let row = 0; row < rows; row++) {
    let line = '';
    for (const column of texts) line += column[row] ?? '';
    bytes.add(line + rest + end);
  }
}

/** A format with one line per row. */
export const lineFormat = (kind: LineKind): PartFormat => ({
  head: Buffer.from(kind.head),
  encode: (pages, memory = new ArrayBuffer(0)) => {
    const text = new TextBytes(memory);
    for (const page of pages) addLines(page, kind, text);
    return { rows: pages.reduce((sum, { rows }) => sum + rows, 0), bytes: text.bytes };
  },
  join: ({ bytes }) => bytes,
  end: () => new Uint8Array(0),
});

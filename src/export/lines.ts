import type { ColumnType, TableColumn } from '../record/plain-columns';
import { isoTime } from '../base/iso-time';
import type { Encoder, RowFormat } from './format';
import type { Columns } from './table';
import { TextBytes } from './text-bytes';

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

/** The form of lines: the values of `columns`, each with the text before it, then `end`. */
export interface LineKind {
  readonly columns: readonly LineColumn[];
  readonly end: string;
  readonly how: LineText;
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

export const lineEncoder =
  (kind: LineKind): Encoder =>
  (pages, memory) => {
    const bytes = new TextBytes(memory);
    for (const page of pages) addLines(page, kind, bytes);
    return { rows: pages.reduce((sum, { rows }) => sum + rows, 0), bytes: bytes.taken() };
  };

/** A format with one line per row. `head`: the text before all lines. */
export function lineFormat(head: string, kind: LineKind): RowFormat {
  const bytes = new TextBytes();
  let isBegun = false;
  const begin = (): void => {
    if (!isBegun) bytes.add(head);
    isBegun = true;
  };
  return {
    rows: (columns, rows) => {
      begin();
      addLines({ columns, rows }, kind, bytes);
      return bytes.taken();
    },
    part: (part) => {
      if (isBegun) return part.bytes;
      begin();
      return Buffer.concat([bytes.taken(), part.bytes]);
    },
    end: () => {
      begin();
      return bytes.taken();
    },
  };
}

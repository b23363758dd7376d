import type { ColumnType, TableColumn, TableValue } from '../record/plain-columns';
import type { RowFormat } from './format';

/** How a column stands in a line. */
export interface LineColumn {
  /** Before each of its values. */
  readonly before: string;
  readonly type: ColumnType;
}

/** How values are written: texts as they are to be escaped, JSON as it is, null as it is called. */
interface LineText {
  readonly text: (value: string) => string;
  readonly json: (value: string) => string;
  readonly time: (iso: string) => string;
  readonly none: string;
}

const repeated = (make: (value: string) => string): ((value: string) => string) => {
  const known = new Map<string, string>();
  return (value) => {
    const before = known.get(value);
    if (before !== undefined) return before;
    const made = make(value);
    known.set(value, made);
    return made;
  };
};

function textsOf(column: TableColumn, type: ColumnType, { text, json, time, none }: LineText): readonly string[] {
  const written = repeated(type === 'json' ? json : text);
  const textOf = (value: TableValue): string => {
    if (value === null) return none;
    if (typeof value === 'string') return written(value);
    return type === 'time' ? time(new Date(Number(value)).toISOString()) : String(value);
  };
  return column.map(textOf);
}

/** One line per row: its values with what is before each, and `end`. `head`: before all lines. */
export function lineFormat(head: string, columns: readonly LineColumn[], end: string, how: LineText): RowFormat {
  let first = head;
  const taken = (): string => {
    const text = first;
    first = '';
    return text;
  };
  return {
    rows: (values, rows) => {
      const texts = columns.map(({ type }, index) => textsOf(values[index] ?? [], type, how));
      let lines = taken();
      for (let row = 0; row < rows; row++) {
        for (const [index, { before }] of columns.entries()) lines += before + (texts[index]?.[row] ?? how.none);
        lines += end;
      }
      return lines;
    },
    end: taken,
  };
}

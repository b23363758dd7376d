import { COLUMNS, fromRow, SERIES_CELLS } from '../row';
import type { Cell, Column, Dictionary, WordCodec } from '../columns';
import type { StoredRecord } from '../../record/merge';

const TYPES = { integer: 'bigint', real: 'double precision', text: 'text' } as const;

/** The type of a column of a record. */
export function columnType({ type, dictionary, small }: Pick<Column, 'type' | 'dictionary' | 'small'>): string {
  return dictionary !== undefined ? 'integer' : small === true ? 'smallint' : TYPES[type];
}

/** What a reader's view calls the string of a column of numbers in a dictionary. */
export function textColumn(column: string): string {
  return column.replace(/_id$/, '');
}

/** The columns of a record with its series, as `readRow` takes them, of `r`: one of the views of records. */
export const NAMED_COLUMNS = [
  'r.series_start, r.series_step_ms, r.series_rss_bytes',
  ...COLUMNS.map(({ name, dictionary }) => `r.${dictionary === undefined ? name : textColumn(name)}`),
].join(', ');
/** The same without the series. */
export const NAMED_WITHOUT_SERIES = NAMED_COLUMNS.replace(/^[^,]*,[^,]*,[^,]*/, 'NULL, NULL, NULL');

/** Strings by numbers of their own: what comes with its strings needs none of the store's. */
class OwnNumbers implements WordCodec {
  private readonly texts: string[] = [];
  private readonly ids = new Map<string, number>();

  intern(_dictionary: Dictionary, text: string): number {
    const known = this.ids.get(text);
    if (known !== undefined) return known;
    this.ids.set(text, this.texts.length);
    return this.texts.push(text) - 1;
  }

  text(_dictionary: Dictionary, id: number): string {
    return this.texts[id] ?? '';
  }
}

/** Records out of rows that have NAMED_COLUMNS from `at` on. */
export function readRows(rows: readonly (readonly Cell[])[], at: number): readonly StoredRecord[] {
  const words = new OwnNumbers();
  return rows.map((row) => {
    const cells = COLUMNS.map(({ dictionary }, index): Cell => {
      const cell = row[at + SERIES_CELLS + index] ?? null;
      return dictionary !== undefined && typeof cell === 'string' ? words.intern(dictionary, cell) : cell;
    });
    return fromRow([...row.slice(at, at + SERIES_CELLS), ...cells], SERIES_CELLS, 0, words);
  });
}

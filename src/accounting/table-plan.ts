import type { FieldName } from '../record/fields';
import { tableValue, type PlainColumn, type TableColumn, type TableValue } from '../record/plain-columns';
import type { JobRecord } from '../record/record';
import { FIELD_CODECS, type Cell, type Column, type PlainCell, type WordCodec } from './columns';
import { withDamage, NO_FIELDS } from './row';

type Rows = readonly (readonly Cell[])[];

/** What repeats is made once for each cell of that number. */
function readColumn(rows: Rows, place: number, { read, repeated }: PlainCell, words: WordCodec): TableColumn {
  if (!repeated) return rows.map((row) => read(row, place, words));
  const known = new Map<Cell, TableValue>();
  return rows.map((row) => {
    const cell = row[place] ?? null;
    const before = known.get(cell);
    if (before !== undefined) return before;
    const value = read(row, place, words);
    known.set(cell, value);
    return value;
  });
}

/**
 * Reads plain columns out of the rows of a store, column by column: records are made only of the fields that a column
 * derives its value from.
 */
export class TablePlan {
  /** What the rows have to consist of. */
  readonly columns: readonly Column[];
  readonly #places = new Map<FieldName, number>();
  readonly #derivedFrom: ReadonlySet<FieldName>;

  constructor(private readonly wanted: readonly PlainColumn[]) {
    const needed = FIELD_CODECS.filter(({ name }) => wanted.some(({ fields }) => fields.includes(name)));
    let at = 0;
    for (const { name, codec } of needed) {
      this.#places.set(name, at);
      at += codec.columns.length;
    }
    this.columns = needed.flatMap(({ codec }) => codec.columns);
    this.#derivedFrom = new Set(wanted.flatMap(({ fields }) => (fields.length > 1 ? fields : [])));
  }

  /** The wanted columns of rows that begin at `from`. Throws DamagedRecord. */
  read(rows: Rows, from: number, words: WordCodec): readonly TableColumn[] {
    return withDamage(() => {
      const records = this.#derivedFrom.size === 0 ? [] : rows.map((row) => this.#record(row, from, words));
      return this.wanted.map((column) => {
        const { fields, member } = column;
        const [name] = fields;
        const field = fields.length > 1 ? undefined : FIELD_CODECS.find((known) => known.name === name);
        if (field === undefined) return records.map((record) => tableValue(column, record));
        const cell = field.codec.plain(member);
        return readColumn(rows, from + this.#place(field.name) + cell.at, cell, words);
      });
    });
  }

  #place(name: FieldName): number {
    return this.#places.get(name) ?? 0;
  }

  #record(row: readonly Cell[], from: number, words: WordCodec): JobRecord {
    const fields: Record<string, unknown> = { ...NO_FIELDS };
    for (const { name, codec } of FIELD_CODECS)
      if (this.#derivedFrom.has(name)) fields[name] = codec.read(row, from + this.#place(name), words);
    return fields as unknown as JobRecord;
  }
}

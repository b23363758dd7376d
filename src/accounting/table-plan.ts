import { tableValue, type PlainColumn, type TableColumn, type TableValue } from '../record/plain-columns';
import type { JobRecord } from '../record/record';
import type { Cell, Column, PlainCell, WordCodec } from './cell-codec';
import { FIELD_CODECS } from './columns';
import { NO_FIELDS, SERIES_CELLS, withDamage } from './row';

type Rows = readonly (readonly Cell[])[];

/** A column that is read from the cells of its only field. */
interface ReadColumn {
  readonly at: number;
  readonly cell: PlainCell;
}

/** A value that repeats is made once for all rows with the same cell. A NULL in a column's first cell means null. */
function readColumn(rows: Rows, place: number, { read, repeated }: PlainCell, words: WordCodec): TableColumn {
  const known = new Map<Cell, TableValue>();
  let [last, value]: [Cell, TableValue] = [null, null];
  return rows.map((row) => {
    const cell = row[place] ?? null;
    if (cell === null) return null;
    if (!repeated) return read(row, place, words);
    if (cell === last) return value;
    last = cell;
    const before = known.get(cell);
    value = before === undefined ? read(row, place, words) : before;
    if (before === undefined) known.set(cell, value);
    return value;
  });
}

/**
 * Reads plain columns out of the rows of a store, column by column: records are made only of the fields that a column
 * derives its value from.
 */
export class TablePlan {
  /** The columns that the rows must have. */
  readonly columns: readonly Column[];
  /** In the order of the wanted columns; null: the column is derived from records. */
  private readonly readers: readonly (ReadColumn | null)[];
  private readonly derivedFrom: readonly ((typeof FIELD_CODECS)[number] & { readonly at: number })[];

  constructor(private readonly wanted: readonly PlainColumn[]) {
    const columns: Column[] = [];
    const needed = FIELD_CODECS.filter(({ name }) => wanted.some(({ fields }) => fields.includes(name)));
    const fields = needed.map((field) => {
      const at = columns.length;
      columns.push(...field.codec.columns);
      return { ...field, at };
    });
    this.columns = columns;
    this.readers = wanted.map(({ fields: from, member }) => {
      const field = from.length > 1 ? undefined : fields.find(({ name }) => name === from[0]);
      if (field === undefined) return null;
      const cell = field.codec.plain(member);
      return { at: field.at + cell.at, cell };
    });
    const derivedFrom = new Set(wanted.flatMap((column) => (column.fields.length > 1 ? column.fields : [])));
    this.derivedFrom = fields.filter(({ name }) => derivedFrom.has(name));
  }

  /** The wanted columns of rows, which have SERIES_CELLS before their own columns. Throws DamagedRecord. */
  read(rows: Rows, words: WordCodec): readonly TableColumn[] {
    return withDamage(() => {
      const records = this.derivedFrom.length === 0 ? [] : rows.map((row) => this.record(row, words));
      return this.wanted.map((column, index) => {
        const reader = this.readers[index] ?? null;
        return reader === null
          ? records.map((record) => tableValue(column, record))
          : readColumn(rows, SERIES_CELLS + reader.at, reader.cell, words);
      });
    });
  }

  private record(row: readonly Cell[], words: WordCodec): JobRecord {
    // The prototype gives the other fields their empty values, without a copy.
    const fields = Object.create(NO_FIELDS) as Record<string, unknown>;
    for (const { name, codec, at } of this.derivedFrom) fields[name] = codec.read(row, SERIES_CELLS + at, words);
    return fields as unknown as JobRecord;
  }
}

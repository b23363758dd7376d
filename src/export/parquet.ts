import type { RowGroup } from 'hyparquet' with { 'resolution-mode': 'import' };
import type { ColumnFacts, ColumnType, TableColumn, TableValue } from '../record/plain-columns';
import type { Encoder, RowFormat } from './format';
import type { Columns, Part } from './table';

/** As soon as so many rows are in memory, they become a row group of the file, which readers read as a whole. */
const GROUP = 10_000;

const TYPES = {
  integer: 'INT64',
  real: 'DOUBLE',
  text: 'STRING',
  boolean: 'BOOLEAN',
  time: 'TIMESTAMP',
  json: 'STRING',
} as const satisfies Readonly<Record<ColumnType, string>>;

type ParquetValue = string | number | bigint | boolean | null;

/** Whole numbers are bigint for Parquet's writer. */
const whole = (value: TableValue): bigint | null => (typeof value === 'number' ? BigInt(value) : null);

const valuesOf = (type: ColumnType, values: TableColumn): readonly ParquetValue[] =>
  type === 'integer' || type === 'time' ? values.map(whole) : values;

async function openLibrary(columns: readonly ColumnFacts[]) {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const columnData = columns.map(({ name, type }) => ({ name, type: TYPES[type], data: [] }));
  return { ByteWriter, ParquetWriter, schema: schemaFromColumnData({ columnData }) };
}

/** Encodes rows as one row group. */
export async function openParquetEncoder(columns: readonly ColumnFacts[]): Promise<Encoder> {
  const { ByteWriter, ParquetWriter, schema } = await openLibrary(columns);
  return (pages) => {
    const bytes = new ByteWriter();
    const file = new ParquetWriter({ writer: bytes, schema });
    const rows = pages.reduce((sum, page) => sum + page.rows, 0);
    const columnData = columns.map(({ name, type }, index) => ({
      name,
      // Readers skip groups by the range of their times.
      statistics: type === 'time',
      // A group is read as a whole, so an index of its pages is of no use.
      offsetIndex: false,
      data: ([] as ParquetValue[]).concat(...pages.map((page) => valuesOf(type, page.columns[index] ?? []))),
    }));
    void file.write({ columnData, rowGroupSize: rows });
    const [group] = file.row_groups;
    return { rows, bytes: bytes.getBytes().slice(), ...(group === undefined ? {} : { group }) };
  };
}

/** Moves the offsets of a group's columns by `by` bytes. */
function move({ columns }: RowGroup, by: bigint): void {
  for (const chunk of columns) {
    chunk.file_offset += by;
    const { meta_data: meta } = chunk;
    if (meta === undefined) continue;
    meta.data_page_offset += by;
    if (meta.dictionary_page_offset !== undefined) meta.dictionary_page_offset += by;
  }
}

/** Apache Parquet; objects and lists are JSON texts. */
export async function openParquetFormat(columns: readonly ColumnFacts[]): Promise<RowFormat> {
  const { ByteWriter, ParquetWriter, schema } = await openLibrary(columns);
  const encode = await openParquetEncoder(columns);
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'qmemacct' });
  /** Length of the file header, with which each encoded part begins, too. */
  const begin = bytes.offset;
  let pages: Columns[] = [];
  let waiting = 0;
  const add = ({ bytes: written, group, rows }: Part): void => {
    if (group === undefined) return;
    move(group, BigInt(bytes.offset - begin));
    file.row_groups.push(group);
    file.num_rows += BigInt(rows);
    bytes.appendBytes(written.subarray(begin));
  };
  const addWaiting = (): void => {
    if (waiting > 0) add(encode(pages));
    pages = [];
    waiting = 0;
  };
  /** Returns the bytes written since the last call. */
  const taken = (): Uint8Array => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return written;
  };
  return {
    rows: (page, rows) => {
      pages.push({ columns: page, rows });
      waiting += rows;
      if (waiting >= GROUP) addWaiting();
      return taken();
    },
    part: (part) => {
      addWaiting();
      add(part);
      return taken();
    },
    end: () => {
      addWaiting();
      void file.finish();
      return taken();
    },
  };
}

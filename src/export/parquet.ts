import type { RowGroup } from 'hyparquet' with { 'resolution-mode': 'import' };
import type { ColumnFacts, ColumnType, TableColumn, TableValue } from '../record/plain-columns';
import type { PartFormat } from './format';

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

/** Apache Parquet; a part is a row group, objects and lists are JSON texts. */
export async function openParquetFormat(columns: readonly ColumnFacts[]): Promise<PartFormat> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const columnData = columns.map(({ name, type }) => ({ name, type: TYPES[type], data: [] }));
  const schema = schemaFromColumnData({ columnData });
  const bytes = new ByteWriter();
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'qmemacct' });
  /** Returns the bytes written since the last call. */
  const taken = (): Uint8Array => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return written;
  };
  /** The file header, with which each encoded part begins, too. */
  const head = taken();
  return {
    head,
    encode: (pages) => {
      const part = new ByteWriter();
      const one = new ParquetWriter({ writer: part, schema });
      const rows = pages.reduce((sum, page) => sum + page.rows, 0);
      const columnData = columns.map(({ name, type }, index) => ({
        name,
        // Readers skip groups by the range of their times.
        statistics: type === 'time',
        // A group is read as a whole, so an index of its pages is of no use.
        offsetIndex: false,
        data: ([] as ParquetValue[]).concat(...pages.map((page) => valuesOf(type, page.columns[index] ?? []))),
      }));
      void one.write({ columnData, rowGroupSize: rows });
      const [group] = one.row_groups;
      return { rows, bytes: part.getBytes().slice(), ...(group === undefined ? {} : { group }) };
    },
    join: ({ bytes: written, group, rows }) => {
      if (group !== undefined) {
        move(group, BigInt(bytes.offset - head.length));
        file.row_groups.push(group);
        file.num_rows += BigInt(rows);
        bytes.appendBytes(written.subarray(head.length));
      }
      return taken();
    },
    end: () => {
      void file.finish();
      return taken();
    },
  };
}

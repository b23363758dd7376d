import type { ColumnFacts, ColumnType, TableColumn, TableValue } from '../record/plain-columns';
import type { RowFormat } from './format';

/** As soon as so many rows are in memory they become a group of the file, which is read as a whole. */
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

/** Whole numbers as Parquet's writer wants them. */
const whole = (value: TableValue): bigint | null => (typeof value === 'number' ? BigInt(value) : null);

const valuesOf = (type: ColumnType, values: TableColumn): readonly ParquetValue[] =>
  type === 'integer' || type === 'time' ? values.map(whole) : values;

/** Apache Parquet; objects as JSON texts. */
export async function openParquetFormat(columns: readonly ColumnFacts[]): Promise<RowFormat> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  const schema = schemaFromColumnData({
    columnData: columns.map(({ name, type }) => ({ name, type: TYPES[type], data: [] })),
  });
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'qmemacct' });
  let pages: (readonly TableColumn[])[] = [];
  let waiting = 0;
  const writeGroup = (): void => {
    const columnData = columns.map(({ name, type }, index) => ({
      name,
      // Groups are passed over by their times.
      statistics: type === 'time',
      data: ([] as ParquetValue[]).concat(...pages.map((page) => valuesOf(type, page[index] ?? []))),
    }));
    void file.write({ columnData, rowGroupSize: waiting });
    pages = [];
    waiting = 0;
  };
  /** What has been written since it was last asked for. */
  const taken = (): Uint8Array => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return written;
  };
  return {
    rows: (page, rows) => {
      pages.push(page);
      waiting += rows;
      if (waiting >= GROUP) writeGroup();
      return taken();
    },
    end: () => {
      if (waiting > 0) writeGroup();
      void file.finish();
      return taken();
    },
  };
}

import type { ColumnFacts, ColumnType, PlainValue } from '../record/plain-columns';
import type { Row, RowFormat } from './format';

/** Rows that are in memory, and in the file a group that is read as a whole. */
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

const plain = (value: PlainValue): ParquetValue =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;

function valuesOf(type: ColumnType): (value: PlainValue) => ParquetValue {
  if (type === 'integer') return (value) => (typeof value === 'number' ? BigInt(value) : null);
  if (type === 'time') return (value) => (typeof value === 'string' ? BigInt(Date.parse(value)) : null);
  return plain;
}

/** Apache Parquet; objects as JSON texts. */
export async function openParquetFormat(columns: readonly ColumnFacts[]): Promise<RowFormat> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  const schema = schemaFromColumnData({
    columnData: columns.map(({ name, type }) => ({ name, type: TYPES[type], data: [] })),
  });
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'qmemacct' });
  // Groups are passed over by their times.
  const chunks = columns.map(({ name, type }) => ({ name, statistics: type === 'time', valueOf: valuesOf(type) }));
  let data: ParquetValue[][] = chunks.map(() => []);
  let waiting = 0;
  const writeGroup = (): void => {
    const columnData = chunks.map(({ name, statistics }, index) => ({ name, statistics, data: data[index] ?? [] }));
    void file.write({ columnData, rowGroupSize: waiting });
    data = chunks.map(() => []);
    waiting = 0;
  };
  const add = (row: Row): void => {
    chunks.forEach(({ valueOf }, index) => data[index]?.push(valueOf(row[index] ?? null)));
    waiting++;
    if (waiting === GROUP) writeGroup();
  };
  /** What has been written since it was last asked for. */
  const taken = (): Uint8Array => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return written;
  };
  return {
    rows: (rows) => {
      rows.forEach(add);
      return taken();
    },
    end: () => {
      if (waiting > 0) writeGroup();
      void file.finish();
      return taken();
    },
  };
}

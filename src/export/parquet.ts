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

function parquetValue(type: ColumnType, value: PlainValue): ParquetValue {
  if (value === null) return null;
  if (typeof value === 'object') return JSON.stringify(value);
  if (type === 'integer') return BigInt(value);
  return type === 'time' && typeof value === 'string' ? BigInt(Date.parse(value)) : value;
}

/** Apache Parquet; objects as JSON texts. */
export async function openParquetFormat(columns: readonly ColumnFacts[]): Promise<RowFormat> {
  const { ByteWriter, ParquetWriter, schemaFromColumnData } = await import('hyparquet-writer');
  const bytes = new ByteWriter();
  const schema = schemaFromColumnData({
    columnData: columns.map(({ name, type }) => ({ name, type: TYPES[type], data: [] })),
  });
  const file = new ParquetWriter({ writer: bytes, schema, createdBy: 'qmemacct' });
  let waiting: Row[] = [];
  const writeGroup = (rows: readonly Row[]): void => {
    const columnData = columns.map(({ name, type }, index) => ({
      name,
      data: rows.map((row) => parquetValue(type, row[index] ?? null)),
      // Groups are passed over by their times.
      statistics: type === 'time',
    }));
    void file.write({ columnData, rowGroupSize: rows.length });
  };
  /** What has been written since it was last asked for. */
  const taken = (): Uint8Array => {
    const written = bytes.getBytes().slice();
    bytes.index = 0;
    return written;
  };
  return {
    rows: (rows) => {
      waiting.push(...rows);
      while (waiting.length >= GROUP) {
        writeGroup(waiting.slice(0, GROUP));
        waiting = waiting.slice(GROUP);
      }
      return taken();
    },
    end: () => {
      if (waiting.length > 0) writeGroup(waiting);
      void file.finish();
      return taken();
    },
  };
}

import { SqliteDatabase, SqliteError } from '../native/sqlite';
import type { ColumnFacts, ColumnType, TableValue } from '../record/plain-columns';
import type { RowFormat } from './format';
import { isoTime } from '../base/iso-time';
import type { OutputFile } from './output-file';
import type { Table } from './table';

const TYPES = {
  integer: 'INTEGER',
  real: 'REAL',
  text: 'TEXT',
  boolean: 'INTEGER',
  time: 'TEXT',
  json: 'TEXT',
} as const satisfies Readonly<Record<ColumnType, string>>;

/** A value for SQLite: times as its date functions read them, booleans as 0 or 1. */
function stored(type: ColumnType, value: TableValue): string | number | null {
  if (typeof value === 'boolean') return Number(value);
  return type === 'time' && typeof value === 'number' ? isoTime(value) : value;
}

/** Turns the library's "disk full" into the system's error ENOSPC. */
function systemError(error: unknown): unknown {
  const code = error instanceof SqliteError && error.code === 'SQLITE_FULL' ? 'ENOSPC' : undefined;
  return code === undefined ? error : Object.assign(new Error(code), { code });
}

/** A SQLite file with one table, named after its content. */
export function openSqliteFormat(
  { what, columns }: { readonly what: Table['what']; readonly columns: readonly ColumnFacts[] },
  output: OutputFile,
): RowFormat {
  const step = <T>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      throw output.failed(systemError(error));
    }
  };
  const { temporary } = output;
  const database = step(() => new SqliteDatabase(temporary));
  const insert = step(() => {
    // No journal: the file has a temporary name until it is complete, and is removed after a failure.
    database.pragma('journal_mode = OFF');
    database.pragma('synchronous = OFF');
    database.exec('BEGIN');
    const definitions = columns.map(({ name, type }) => `"${name}" ${TYPES[type]}`);
    database.exec(`CREATE TABLE "${what}" (${definitions.join(', ')}) STRICT`);
    return database.prepare(`INSERT INTO "${what}" VALUES (${columns.map(() => '?').join(', ')})`);
  });
  return {
    rows: ({ columns: values, rows }) => {
      step(() => {
        for (let row = 0; row < rows; row++)
          insert.run(columns.map(({ type }, index) => stored(type, values[index]?.[row] ?? null)));
      });
    },
    end: () => {
      step(() => {
        database.exec('COMMIT');
        database.close();
      });
    },
    abandon: () => {
      database.close();
    },
  };
}

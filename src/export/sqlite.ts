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

/** A time as SQLite's date functions read it, a boolean as 0 or 1. */
function stored(type: ColumnType, value: TableValue): string | number | null {
  if (typeof value === 'boolean') return Number(value);
  return type === 'time' && typeof value === 'number' ? isoTime(value) : value;
}

/** The library writes the file. */
const NOTHING = new Uint8Array(0);

/** What the library threw, as the system call that failed. */
function systemError(error: unknown): unknown {
  const code = error instanceof SqliteError && error.code === 'SQLITE_FULL' ? 'ENOSPC' : undefined;
  return code === undefined ? error : Object.assign(new Error(code), { code });
}

/** A SQLite file with one table, which has the name of what is in it. */
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
  const database = step(() => new SqliteDatabase(output.temporary));
  const insert = step(() => {
    // Until it is whole it has another name, so nothing needs to be undone in it.
    database.pragma('journal_mode = OFF');
    database.pragma('synchronous = OFF');
    database.exec('BEGIN');
    const definitions = columns.map(({ name, type }) => `"${name}" ${TYPES[type]}`);
    database.exec(`CREATE TABLE "${what}" (${definitions.join(', ')}) STRICT`);
    return database.prepare(`INSERT INTO "${what}" VALUES (${columns.map(() => '?').join(', ')})`);
  });
  return {
    rows: (values, rows) => {
      step(() => {
        for (let row = 0; row < rows; row++)
          insert.run(columns.map(({ type }, index) => stored(type, values[index]?.[row] ?? null)));
      });
      return NOTHING;
    },
    end: () => {
      step(() => {
        database.exec('COMMIT');
        database.close();
      });
      return NOTHING;
    },
    abandon: () => {
      database.close();
    },
  };
}

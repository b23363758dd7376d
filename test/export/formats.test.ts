import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { FormatName } from '../../src/export/format';
import { writeTable, writeTableFile } from '../../src/export/write-table';
import { columnsOfRows, type Row, type RowPage, type Table } from '../../src/export/table';
import { PLAIN_COLUMNS, tableValue, type ColumnFacts } from '../../src/record/plain-columns';
import type { JobRecord } from '../../src/record/record';
import { SqliteDatabase } from '../../src/native/sqlite';
import { arbitraryRecord } from '../accounting/arbitrary-record';
import { realisticRecords } from '../accounting/realistic-record';
import { temporaryDirectory } from '../support/temporary-directory';

function tableOf(columns: readonly ColumnFacts[], rows: readonly Row[], page = 7): Table {
  async function* pages(): AsyncGenerator<RowPage> {
    for (let at = 0; at < rows.length; at += page) {
      const some = rows.slice(at, at + page);
      const values = columnsOfRows(some, columns);
      yield await Promise.resolve({ columns: values, rows: some.length, done: at, of: rows.length });
    }
  }
  return { what: 'records', columns, pages };
}

const rowOf = (record: JobRecord): Row => PLAIN_COLUMNS.map((column) => tableValue(column, record));

async function written(table: Table, format: FormatName): Promise<Buffer> {
  const pieces: Buffer[] = [];
  await writeTable(table, format, { write: (piece) => void pieces.push(Buffer.from(piece)) });
  return Buffer.concat(pieces);
}

/** A value as Parquet gives it back. */
function fromParquet(value: unknown): unknown {
  if (typeof value === 'bigint') return Number(value);
  return value instanceof Date ? value.getTime() : (value ?? null);
}

async function readParquet(bytes: Buffer): Promise<readonly (readonly unknown[])[]> {
  const { parquetReadObjects } = await import('hyparquet');
  const { buffer, byteOffset, byteLength } = bytes;
  const file = buffer.slice(byteOffset, byteOffset + byteLength) as ArrayBuffer;
  const objects = await parquetReadObjects({ file });
  return objects.map((object) => Object.values(object).map(fromParquet));
}

/** The rows of a SQLite file; a time and a boolean as they were before they were written. */
async function throughSqlite(table: Table): Promise<readonly (readonly unknown[])[]> {
  const path = join(temporaryDirectory(), 'x.db');
  await writeTableFile(table, 'sqlite', path, {});
  const database = new SqliteDatabase(path, { readonly: true });
  const rows = database.prepare(`SELECT * FROM ${table.what}`).raw().all() as unknown[][];
  database.close();
  return rows.map((row) =>
    row.map((value, index) => {
      const type = table.columns[index]?.type;
      if (type === 'boolean' && value !== null) return value === 1;
      return type === 'time' && typeof value === 'string' ? Date.parse(value) : value;
    }),
  );
}

/** A plain reader of RFC 4180. */
function parseCsv(text: string): readonly (readonly string[])[] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain, end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\n]*))(,|\n)/g)) {
    row.push(quoted === undefined ? (plain ?? '') : quoted.replaceAll('""', '"'));
    if (end !== '\n') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

describe('an exported table', () => {
  it('is read back from Parquet row by row', async () => {
    const { next } = realisticRecords();
    const rows = Array.from({ length: 50 }, () => rowOf(next()));
    const bytes = await written(tableOf(PLAIN_COLUMNS, rows), 'parquet');
    assert.deepEqual(await readParquet(bytes), rows);
  });

  it('holds the values of any record in every format', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryRecord(), { minLength: 1, maxLength: 5 }), async (records) => {
        const rows = records.map(rowOf);
        const table = (): Table => tableOf(PLAIN_COLUMNS, rows);
        assert.deepEqual(await readParquet(await written(table(), 'parquet')), rows);
        assert.deepEqual(await throughSqlite(table()), rows);
        const lines = (await written(table(), 'jsonl')).toString().trimEnd().split('\n');
        assert.deepEqual(
          lines.map((line) => JSON.parse(line) as unknown),
          records.map((record): unknown =>
            JSON.parse(
              JSON.stringify(Object.fromEntries(PLAIN_COLUMNS.map(({ name, value }) => [name, value(record)]))),
            ),
          ),
        );
        const [head, ...cells] = parseCsv((await written(table(), 'csv')).toString());
        assert.deepEqual(
          head,
          PLAIN_COLUMNS.map(({ name }) => name),
        );
        assert.ok(cells.length === rows.length && cells.every((row) => row.length === PLAIN_COLUMNS.length));
        for (const [at, record] of records.entries())
          for (const [index, { type, value }] of PLAIN_COLUMNS.entries()) {
            const plain = value(record);
            if (type !== 'text' && typeof plain !== 'object') assert.equal(cells[at]?.[index], String(plain));
            if (typeof plain === 'object' && plain !== null)
              assert.deepEqual(JSON.parse(cells[at]?.[index] ?? ''), JSON.parse(JSON.stringify(plain)));
          }
      }),
      { numRuns: 20 },
    );
  });

  it('has JSON in cells of CSV, without control characters', async () => {
    const columns: readonly ColumnFacts[] = [{ name: 'notes', type: 'json', unit: null, help: 'notes' }];
    const values = [[], ['a\u007f"b";\u0085\u001b'], ['\u{e0001}', '\ud800', '\u202e\ufeff'], { '=1': '\\' }];
    const rows = values.map((value): Row => [JSON.stringify(value)]);
    const text = (await written(tableOf(columns, rows), 'csv')).toString();
    assert.doesNotMatch(text.replaceAll('\n', ''), /\p{Cc}/u);
    const [, ...cells] = parseCsv(text);
    assert.deepEqual(
      cells.map(([cell = '']) => JSON.parse(cell) as unknown),
      values,
    );
  });

  it('has its rows in several groups in Parquet', async () => {
    const columns: readonly ColumnFacts[] = [
      { name: 'n', type: 'integer', unit: null, help: 'a number' },
      { name: 'word', type: 'text', unit: null, help: 'a word' },
    ];
    const rows = Array.from({ length: 25_001 }, (_item, index): Row => [index, `word ${index % 10}`]);
    const bytes = await written(tableOf(columns, rows, 999), 'parquet');
    const { parquetMetadata } = await import('hyparquet');
    const file = bytes.buffer.slice(bytes.byteOffset, bytes.byteOffset + bytes.byteLength) as ArrayBuffer;
    assert.deepEqual(
      parquetMetadata(file).row_groups.map((group) => Number(group.num_rows)),
      [10_989, 10_989, 3023],
    );
    assert.deepEqual(await readParquet(bytes), rows);
  });

  it('may be empty', async () => {
    for (const format of ['csv', 'jsonl', 'parquet'] as const) {
      const bytes = await written(tableOf(PLAIN_COLUMNS, []), format);
      if (format === 'parquet') assert.deepEqual(await readParquet(bytes), []);
      else assert.equal(bytes.toString().split('\n').length, format === 'csv' ? 2 : 1);
    }
    assert.deepEqual(await throughSqlite(tableOf(PLAIN_COLUMNS, [])), []);
  });

  it('has a file beside it that describes its columns', async () => {
    const path = join(temporaryDirectory(), 'records.csv');
    const rows = await writeTableFile(tableOf(PLAIN_COLUMNS, [rowOf(realisticRecords().next())]), 'csv', path, {
      what: 'records',
    });
    assert.equal(rows, 1);
    const schema = JSON.parse(readFileSync(`${path}.schema.json`, 'utf8')) as {
      rows: number;
      columns: { name: string; type: string; unit: string | null; meaning: string }[];
    };
    assert.equal(schema.rows, 1);
    assert.deepEqual(
      schema.columns.map(({ name }) => name),
      PLAIN_COLUMNS.map(({ name }) => name),
    );
    assert.ok(schema.columns.every(({ meaning }) => meaning !== ''));
    assert.deepEqual(
      schema.columns.find(({ name }) => name === 'ge_maxvmem_bytes'),
      {
        name: 'ge_maxvmem_bytes',
        type: 'integer',
        unit: 'bytes',
        meaning:
          "Grid Engine's own figures; null until joined with its accounting: its peak, of what it adds up (maxvmem)",
      },
    );
    for (const { name, unit } of schema.columns) {
      if (name.endsWith('_bytes')) assert.equal(unit, 'bytes', name);
      if (name.endsWith('_seconds')) assert.ok(unit?.endsWith('seconds'), name);
    }
  });
});

import assert from 'node:assert/strict';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { openSqliteReader, openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import type { FormatName } from '../../src/export/format';
import type { PartSizes } from '../../src/export/parts';
import { recordTable } from '../../src/export/records';
import type { RowPage } from '../../src/export/table';
import { writeTableFile } from '../../src/export/write-table';
import { PLAIN_COLUMNS } from '../../src/record/plain-columns';
import { realisticRecords } from '../accounting/realistic-record';
import { temporaryDirectory } from '../support/temporary-directory';

/** More parts than the threads are given at once. */
const RECORDS = 420;

async function storeOfMany(): Promise<string> {
  const path = join(temporaryDirectory(), 'accounting.db');
  const store = openSqliteStore(path, 0o600);
  const { next } = realisticRecords();
  await store.merge(Array.from({ length: RECORDS }, () => next()));
  await store.close();
  return path;
}

interface Exported {
  readonly bytes: Buffer;
  readonly pages: readonly RowPage[];
  readonly rows: number;
}

async function exported(store: string, format: FormatName, sizes: Partial<PartSizes>): Promise<Exported> {
  const reader = openSqliteReader(store);
  const output = join(temporaryDirectory(), `x.${format}`);
  const pages: RowPage[] = [];
  const table = recordTable({ since: 0, until: Infinity }, PLAIN_COLUMNS, [reader], sizes);
  const rows = await writeTableFile(table, format, output, {}, (page) => pages.push(page));
  await reader.close();
  return { bytes: readFileSync(output), pages, rows };
}

async function readParquet({ bytes }: Exported): Promise<readonly unknown[]> {
  const { parquetReadObjects } = await import('hyparquet');
  return parquetReadObjects({ file: new Uint8Array(bytes).buffer });
}

const isPart = (page: RowPage): boolean => 'bytes' in page;

describe('records that threads write', () => {
  let store = '';
  const alone = new Map<FormatName, Exported>();
  before(async () => {
    store = await storeOfMany();
    for (const format of ['csv', 'jsonl', 'parquet'] as const) alone.set(format, await exported(store, format, {}));
  });

  it('are the same as those of a single thread, in the same order', async () => {
    for (const [format, whole] of alone) {
      const parts = await exported(store, format, { from: 1, part: 70 });
      assert.ok(whole.pages.length > 0 && !whole.pages.some(isPart));
      assert.deepEqual([parts.pages.length, parts.pages.every(isPart)], [Math.ceil(RECORDS / 70), true], format);
      assert.deepEqual([whole.rows, parts.rows], [RECORDS, RECORDS]);
      assert.deepEqual(parts.pages.at(-1)?.done, RECORDS);
      if (format === 'parquet') assert.deepEqual(await readParquet(parts), await readParquet(whole));
      else assert.ok(parts.bytes.equals(whole.bytes), format);
    }
  });

  it('are written by the main thread where the other threads die', async () => {
    const program = join(temporaryDirectory(), 'dies.js');
    writeFileSync(program, 'require("node:worker_threads").parentPort.once("message", () => process.exit(1));');
    const parts = await exported(store, 'csv', { from: 1, part: 70, program });
    assert.ok(!parts.pages.some(isPart));
    assert.deepEqual(parts.bytes, alone.get('csv')?.bytes);
  });
});

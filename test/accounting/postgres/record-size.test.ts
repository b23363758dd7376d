import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { realisticRecords } from '../realistic-record';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

/** Enough that partly filled pages count little. For a true measurement: QMEMACCT_TEST_RECORDS=100000. */
const RECORDS = Number(process.env.QMEMACCT_TEST_RECORDS ?? 7000);
const BATCH = 500;
const BUDGET_BYTES = 750;
/** Each string is stored once, so with few records strings take more space per record. */
const BUDGET_WITHOUT_STRINGS = RECORDS < 50_000;

let server: Server;
before(async () => {
  if (noPostgres === false) server = await startServer();
});
after(async () => {
  if (noPostgres === false) await server.remove();
});

it('a record with all its indexes stays within its budget', { skip: noPostgres }, async (t) => {
  const name = await server.database();
  const store = openPostgresHistory(server.url(name));
  const { next } = realisticRecords();
  const began = performance.now();
  for (let done = 0; done < RECORDS; done += BATCH) await store.merge(Array.from({ length: BATCH }, next));
  const ms = performance.now() - began;
  await store.close();
  const rows = (await server.run(
    name,
    `SELECT c.relname AS name, pg_relation_size(c.oid)::double precision AS bytes, c.relkind = 'r' AS heap
     FROM pg_class AS c WHERE c.relnamespace = 'qmemacct'::regnamespace AND c.relkind IN ('r', 'i', 't')
       AND c.relname NOT LIKE 'series%'`,
  )) as readonly { readonly name: string; readonly bytes: number; readonly heap: boolean }[];
  const counted = rows.filter((row) => !BUDGET_WITHOUT_STRINGS || row.name.startsWith('record'));
  const each = counted.reduce((sum, { bytes }) => sum + bytes, 0) / RECORDS;
  const heap = counted.reduce((sum, row) => sum + (row.heap ? row.bytes : 0), 0) / RECORDS;
  t.diagnostic(
    `${RECORDS} records: ${each.toFixed(0)} bytes each with indexes (${heap.toFixed(0)} without), ${((ms * 1000) / RECORDS).toFixed(0)} us each`,
  );
  assert.ok(each <= BUDGET_BYTES, `${each} bytes`);
});

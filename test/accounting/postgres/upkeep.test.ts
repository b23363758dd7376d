import assert from 'node:assert/strict';
import { after, before, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { DAY, job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

let server: Server;
before(async () => {
  if (noPostgres === false) server = await startServer();
});
after(async () => {
  if (noPostgres === false) await server.remove();
});

it('prune returns space to the file system if it removes more than it leaves', { skip: noPostgres }, async () => {
  const name = await server.database();
  const store = openPostgresHistory(server.url(name));
  const day = (from: number, count: number, at: number) =>
    Array.from({ length: count }, (_item, index) => job(from + index, T0 + at * DAY));
  await store.merge([...day(1, 1500, 0), ...day(2001, 300, 5)]);
  const size = async (): Promise<number> => {
    const [row] = (await server.run(
      name,
      "SELECT pg_total_relation_size('qmemacct.record')::double precision AS bytes",
    )) as readonly { readonly bytes: number }[];
    return row?.bytes ?? 0;
  };
  const full = await size();
  const pruned = await store.prune({ records: 3, series: 0, rollups: 0 }, T0 + 6 * DAY, {});
  assert.deepEqual([pruned.records, pruned.complete], [1500, true]);
  const left = await size();
  assert.ok(left < full / 2, `${left} of ${full} bytes`);
  assert.ok(pruned.freed >= full - left - 100_000, `${pruned.freed} of ${full - left} bytes`);
  assert.equal((await store.job({ job_id: 2001 })).records.length, 1);
  await store.merge(day(3001, 300, 5));
  const again = await store.prune({ records: 3, series: 0, rollups: 0 }, T0 + 6 * DAY, {});
  assert.deepEqual([again.records, again.freed], [0, 0]);
  await store.close();
});

it('an old day counts records in the inbox unless its own records were pruned', { skip: noPostgres }, async () => {
  const url = server.url(await server.database());
  const [store, deliverer] = [openPostgresHistory(url), openPostgresStore(url)];
  await store.merge([job(1, T0)]);
  const now = T0 + 6 * DAY;
  await store.prune({ records: 3, series: 0, rollups: 0 }, now, {});
  await deliverer.merge([job(2, T0), job(3, T0 - DAY)]);
  const { totals } = await store.summary({ since: T0 - 2 * DAY, until: now, by: 'owner' });
  assert.equal(totals.records, 2);
  await Promise.all([store.close(), deliverer.close()]);
});

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

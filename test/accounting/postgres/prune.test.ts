import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { DAY, job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

describe('prune in PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer({ settings: ['fsync = off'] })));
  after(() => server.remove());

  it('gives back the room of months that go as a whole, and says how much that was', async () => {
    const name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const size = async (): Promise<number> => {
      const [row] = (await server.run(
        name,
        `SELECT sum(pg_total_relation_size(oid))::integer AS bytes FROM pg_class
         WHERE relnamespace = 'qmemacct'::regnamespace AND relkind = 'r' AND relispartition`,
      )) as readonly { readonly bytes: number }[];
      return row?.bytes ?? assert.fail();
    };
    const old = Array.from({ length: 300 }, (_, n) => job(1 + n, T0 - 80 * DAY + n * 60_000));
    // T0 begins a month.
    const late = Array.from({ length: 50 }, (_, n) => job(1000 + n, T0 + (1 + (n % 20)) * DAY));
    await store.merge([...old, ...late]);
    const full = await size();
    const gone = await store.prune({ records: 60, series: 0, rollups: 0 }, T0, {});
    const left = await size();
    assert.deepEqual([gone.records, gone.freed], [300, full - left]);
    assert.ok(gone.freed > 300 * 100, `${gone.freed} bytes`);
    // Of a month that stays, some records go.
    const some = await store.prune({ records: 1, series: 0, rollups: 0 }, T0 + 10 * DAY, {});
    assert.ok(some.records > 0 && some.records < 50, `${some.records} records`);
    assert.equal(some.freed, 0);
    await store.close();
  });
});

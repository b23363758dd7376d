import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { StoreError } from '../../../src/accounting/store-error';
import { until } from '../../support/until';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer, type Server } from './server';

describe('an accounting DB on a primary and a standby', { skip: noPostgres }, () => {
  let primary: Server;
  let standby: Server;
  let name: string;

  before(async () => {
    primary = await startServer();
    name = await primary.database();
    standby = await startServer({ standbyOf: primary });
  });
  after(async () => {
    await standby.remove();
    await primary.remove();
  });

  const onBoth = (...servers: readonly Server[]): string =>
    `postgres://${primary.admin}@/${name}?host=${servers.map(({ directory }) => directory).join()}`;

  it('is written and read on the primary, whichever is named first', async () => {
    for (const [id, url] of [onBoth(primary, standby), onBoth(standby, primary)].entries()) {
      const store = openPostgresStore(url);
      assert.deepEqual(await store.merge([job(1 + id, T0)]), [{ ok: true, change: 'added' }]);
      await store.close();
      const reader = openPostgresReader(url);
      assert.equal((await reader.job({ job_id: 1 + id })).records.length, 1);
      await reader.close();
    }
  });

  it('is on the standby once that is promoted, also for a connection that has lost the primary', async () => {
    const url = onBoth(primary, standby);
    const store = openPostgresStore(url);
    const reader = openPostgresReader(url);
    try {
      await store.merge([job(10, T0)]);
      await until(async () => (await standby.run(name, 'SELECT FROM qmemacct.inbox WHERE job_id = 10')).length === 1);
      await primary.stop('SIGKILL');
      const refused = async (): Promise<StoreError> => {
        const error: unknown = await store.merge([job(11, T0)]).catch((reason: unknown) => reason);
        assert.ok(error instanceof StoreError && error.retry);
        return error;
      };
      // What the primary was asked last may fail first.
      await until(async () => {
        const { reason } = await refused();
        return /^none of its servers takes writes: .*:5432: the server does not answer .*; .*:5432: it is a standby$/.test(
          reason,
        );
      }, 'the word that no server takes writes');
      await standby.run(name, 'SELECT pg_promote()');
      assert.ok((await store.merge([job(11, T0)])).every(({ ok }) => ok));
      for (const id of [10, 11]) assert.equal((await reader.job({ job_id: id })).records.length, 1);
    } finally {
      await store.close();
      await reader.close();
    }
  });

  it('opens no session after it was closed', async () => {
    const db = connect(onBoth(primary, standby));
    const asked = assert.rejects(db.query('SELECT 1'), /the connection was closed/);
    await db.close();
    await asked;
  });
});

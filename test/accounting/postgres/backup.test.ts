import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { initDatabase } from '../../../src/accounting/postgres/schema';
import { StoreError } from '../../../src/accounting/store-error';
import { temporaryDirectory } from '../../support/temporary-directory';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';

it(
  'a dump, restored into a new server as the admin guide says, is the accounting DB again',
  { skip: noPostgres },
  async () => {
    const roles = async (on: typeof lost, name: string): Promise<void> => {
      for (const role of ['hooks', 'merger']) await on.run(name, `CREATE ROLE ${role} LOGIN`);
      await on.run(name, 'GRANT qmemacct_deliver TO hooks');
      await on.run(name, 'GRANT qmemacct_owner TO merger');
    };
    const lost = await startServer();
    const fresh = await startServer();
    try {
      const name = await lost.database();
      await roles(lost, name);
      const hooks = openPostgresStore(lost.url(name, 'hooks'));
      const merger = openPostgresHistory(lost.url(name, 'merger'));
      await hooks.merge([job(1, T0), job(2, T0)]);
      await merger.settle();
      await hooks.merge([job(3, T0)]);
      const dump = join(temporaryDirectory(), 'qmemacct.dump');
      lost.client('pg_dump', '-Fc', '-n', 'qmemacct', '-f', dump, name);
      await hooks.merge([job(4, T0)]);
      await hooks.close();
      await merger.close();

      await fresh.run('postgres', 'CREATE DATABASE again');
      const admin = connect(fresh.url('again'));
      await initDatabase(admin);
      await admin.close();
      fresh.client('pg_restore', '--clean', '--if-exists', '-d', 'again', dump);
      await roles(fresh, 'again');
      const restored = openPostgresStore(fresh.url('again', 'hooks'));
      const store = openPostgresHistory(fresh.url('again', 'merger'));
      // What was delivered after the dump is delivered again, with some that it has.
      assert.ok((await restored.merge([2, 3, 4].map((id) => job(id, T0)))).every(({ ok }) => ok));
      assert.deepEqual((await store.settle()).unreadable, 0);
      for (const id of [1, 2, 3, 4]) assert.equal((await store.job({ job_id: id })).records.length, 1);
      await assert.rejects(restored.job({ job_id: 1 }), StoreError);
      await restored.close();
      await store.close();
    } finally {
      await lost.remove();
      await fresh.remove();
    }
  },
);

import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { listMigrations } from '../../../src/accounting/migrations';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { initDatabase, schemaVersion } from '../../../src/accounting/postgres/schema';
import { StoreError } from '../../../src/accounting/store-error';
import { packageRoot } from '../../../src/base/package-root';
import { arbitraryLine } from '../import/arbitrary-line';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const DIRECTORY = join(packageRoot(), 'sql', 'accounting', 'postgres');

describe('initDatabase', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer({ settings: ['fsync = off'] })));
  after(() => server.remove());

  /** A database as an older qmemacct made it. */
  async function older(version: number): Promise<string> {
    const name = `older_${version}`;
    await server.run('postgres', `CREATE DATABASE ${name}`);
    const db = connect(server.url(name));
    await db.transaction(async (inner) => {
      await inner.query(readFileSync(join(DIRECTORY, 'roles.sql'), 'utf8'));
      for (const { path, version: its } of listMigrations(DIRECTORY).slice(0, version)) {
        await inner.query(readFileSync(path, 'utf8'));
        await inner.query('INSERT INTO qmemacct.schema_version (version) VALUES ($1)', [its]);
      }
    });
    await db.close();
    return name;
  }

  it('upgrades a store from before the import by sets, with what is in it', async () => {
    const name = await older(6);
    const url = server.url(name);
    const records = Array.from({ length: 20 }, (_, n) => job(1 + (n % 3), T0 + n * 1000, { task_id: n + 1 }));
    const store = openPostgresHistory(url);
    await store.merge(records);
    const file = { cluster: 'cell', head: 'a', headBytes: 1, path: '/a', device: 1, inode: 1, offset: 1, lines: 1 };
    await assert.rejects(
      store.importLines({ file, before: null, lines: [], unreadable: [] }),
      (error) => error instanceof StoreError && /older qmemacct.*database init/.test(error.message),
    );
    const db = connect(url);
    assert.deepEqual(await initDatabase(db), { before: 6, after: listMigrations(DIRECTORY).length });
    assert.deepEqual(await initDatabase(db), { before: 7, after: 7 });
    assert.equal(await schemaVersion(db), 7);
    await db.close();
    for (const outcome of await store.merge(records)) assert.deepEqual(outcome, { ok: true, change: 'unchanged' });
    assert.deepEqual(
      (await store.job({ job_id: 1, all: true })).records.map(({ record }) => record.task_id),
      [1, 4, 7, 10, 13, 16, 19],
    );
    await server.run(name, 'CREATE ROLE nightly LOGIN IN ROLE qmemacct_owner');
    const nightly = openPostgresHistory(server.url(name, 'nightly'));
    const lines = fc.sample(arbitraryLine(), { numRuns: 5, seed: 2 });
    const { added, conflict } = await nightly.importLines({ file, before: null, lines, unreadable: [] });
    assert.deepEqual([added, conflict], [5, false]);
    assert.deepEqual(await nightly.importedFiles('cell'), [file]);
    await nightly.close();
    await store.close();
    // What looks for a task's record knows it by the index.
    const [plan] = await server.run(
      name,
      "SELECT prosrc LIKE '%coalesce(task_id, 0) = coalesce($3, 0)%' AS by_index FROM pg_proc WHERE proname = 'put'",
    );
    assert.deepEqual(plan, { by_index: true });
  });
});

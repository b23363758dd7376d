import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import { listMigrations } from '../../../src/accounting/migrations';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { initDatabase, schemaVersion } from '../../../src/accounting/postgres/schema';
import { openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { packageRoot } from '../../../src/base/package-root';
import { arbitraryLine } from '../import/arbitrary-line';
import { tableLines } from '../import/table-lines';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const DIRECTORY = join(packageRoot(), 'sql', 'accounting', 'postgres');

describe('initDatabase', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  it('makes the schema once, and refuses one of a later qmemacct', async () => {
    await server.run('postgres', 'CREATE DATABASE fresh');
    const db = connect(server.url('fresh'));
    const newest = listMigrations(DIRECTORY).length;
    assert.equal(await schemaVersion(db), null);
    assert.deepEqual(await initDatabase(db), { before: 0, after: newest });
    assert.deepEqual(await initDatabase(db), { before: newest, after: newest });
    assert.equal(await schemaVersion(db), newest);
    const identity = 'SELECT id FROM qmemacct.store';
    assert.notDeepEqual(await db.query(identity), await server.run(await server.database(), identity));
    await db.query('INSERT INTO qmemacct.schema_version (version) VALUES ($1)', [newest + 1]);
    await assert.rejects(initDatabase(db), /knows up to .*upgrade qmemacct/);
    await db.close();
  });

  it('waits for no advisory lock, which any role can hold', { timeout: 60_000 }, async (t) => {
    const name = 'locked';
    await server.run('postgres', `CREATE DATABASE ${name}`);
    const [holder, db] = [connect(server.url(name)), connect(server.url(name))];
    t.after(() => Promise.all([holder.close(), db.close()]));
    await holder.query('SELECT pg_advisory_lock(1902994796)');
    assert.equal((await initDatabase(db)).before, 0);
  });

  it('refuses a database whose encoding is not UTF-8', async (t) => {
    await server.run('postgres', "CREATE DATABASE latin ENCODING 'LATIN1' TEMPLATE template0");
    const db = connect(server.url('latin'));
    t.after(() => db.close());
    await assert.rejects(initDatabase(db), /its encoding is LATIN1, .*; make the database anew: createdb -E UTF8/);
    assert.equal(await schemaVersion(db), null);
  });

  it('lets a member of qmemacct_owner do all that the nightly job does', async () => {
    const name = await server.database();
    await server.run(name, 'CREATE ROLE nightly LOGIN IN ROLE qmemacct_owner');
    const nightly = openPostgresHistory(server.url(name, 'nightly'));
    const hooks = openPostgresStore(server.url(name));
    await hooks.merge([job(1, T0)]);
    const file = {
      cluster: 'cell',
      head: 'a',
      headBytes: 1,
      path: '/a',
      device: 1,
      inode: 1,
      offset: 1,
      tail: 'a',
      lines: 1,
    };
    const lines = tableLines(fc.sample(arbitraryLine(), { numRuns: 5, seed: 2 }));
    const { added, conflict } = await nightly.importLines({ file, before: null, lines, unreadable: [] });
    assert.deepEqual([added, conflict], [5, false]);
    assert.deepEqual(await nightly.importedFiles(), [file]);
    assert.equal((await nightly.settle()).settled, 1);
    assert.ok((await nightly.rollUp({})) > 0);
    assert.ok((await nightly.prune({ records: 1, series: 1, rollups: 1 }, T0 + 5e9, {})).records > 0);
    await nightly.close();
    await hooks.close();
  });
});

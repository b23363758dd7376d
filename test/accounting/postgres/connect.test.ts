import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import type { Connection, Transaction } from '../../../src/accounting/postgres/connect';
import { StoreError } from '../../../src/accounting/store-error';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const SESSION = 'SELECT pg_backend_pid() AS pid';

function isTemporary(error: unknown): boolean {
  return error instanceof StoreError && error.retry;
}

describe('a transaction whose connection is lost', { skip: noPostgres }, () => {
  let server: Server;
  let database: string;
  before(async () => {
    server = await startServer();
    database = await server.database();
    await server.run(database, 'CREATE TABLE written (step int)');
  });
  after(() => server.remove());

  function opened(t: TestContext): Connection {
    const db = connect(server.url(database));
    t.after(() => db.close());
    return db;
  }

  /** Ends a session and waits for its end. */
  async function endSession(pid: number): Promise<void> {
    await server.run(database, `SELECT pg_terminate_backend(${pid}, 60000)`);
    await sleep(50);
  }

  /** Writes in a transaction, and then ends its session. */
  async function writeAndLose(inner: Transaction): Promise<void> {
    const [row] = await inner.query<{ pid: number }>(
      'INSERT INTO public.written VALUES (1) RETURNING pg_backend_pid() AS pid',
    );
    await endSession(row?.pid ?? 0);
  }

  async function assertNothingWritten(db: Connection): Promise<void> {
    assert.deepEqual(await db.query('SELECT step FROM written'), []);
  }

  it('fails as a whole if it is lost between two statements', async (t) => {
    const db = opened(t);
    const failed = db.transaction(async (inner) => {
      await writeAndLose(inner);
      await inner.query('INSERT INTO public.written VALUES (2)');
    });
    // This query waits for the connection, and gets the next one.
    const waits = db.query(SESSION);
    await assert.rejects(failed, isTemporary);
    assert.equal((await waits).length, 1);
    await assertNothingWritten(db);
  });

  it('fails if only the commit was left', async (t) => {
    const db = opened(t);
    const failed = db.transaction(writeAndLose);
    await assert.rejects(failed, isTemporary);
    await assertNothingWritten(db);
  });

  it('fails if it is lost during a statement', async (t) => {
    const db = opened(t);
    let pid = 0;
    const failed = db.transaction(async (inner) => {
      const [row] = await inner.query<{ pid: number }>(SESSION);
      pid = row?.pid ?? 0;
      await inner.query('SELECT pg_sleep(600)');
    });
    await Promise.all([assert.rejects(failed, isTemporary), until(() => pid > 0).then(() => endSession(pid))]);
    await assertNothingWritten(db);
  });

  it('leaves room for a new connection, whenever it is lost', { timeout: 60_000 }, async (t) => {
    const db = opened(t);
    const [row] = await db.query<{ pid: number }>(SESSION);
    // Statements are sent while the connection is ending.
    const failed = db.transaction(async (inner) => {
      await inner.query(SESSION);
      for (;;) await Promise.all([inner.query('SELECT 1'), inner.query('SELECT 2')]);
    });
    await Promise.all([assert.rejects(failed, isTemporary), endSession(row?.pid ?? 0)]);
    await assertNothingWritten(db);
  });

  it('is rolled back if a statement fails, and its connection is used again', async (t) => {
    const db = opened(t);
    const failed = db.transaction(async (inner) => {
      await inner.query('INSERT INTO public.written VALUES (4)');
      await inner.query('SELECT 1 / 0');
    });
    await assert.rejects(failed, /division by zero/);
    await assertNothingWritten(db);
  });
});

describe('a connection with a password', { skip: noPostgres }, () => {
  it('takes the new one where its session was lost after a change of both', async (t) => {
    const server = await startServer({ access: ['local all hooks scram-sha-256', 'local all all trust'] });
    t.after(() => server.remove());
    const credentials = join(temporaryDirectory(), 'pgpass');
    const change = async (password: string): Promise<void> => {
      writeFileSync(credentials, `*:*:*:hooks:${password}\n`, { mode: 0o600 });
      await server.run('postgres', `ALTER ROLE hooks PASSWORD '${password}'`);
    };
    await server.run('postgres', 'CREATE ROLE hooks LOGIN');
    await change('old');
    const db = connect(server.url('postgres', 'hooks'), { credentials });
    t.after(() => db.close());
    await db.query(SESSION);
    await change('new');
    await server.run(
      'postgres',
      "SELECT pg_terminate_backend(pid, 60000) FROM pg_stat_activity WHERE usename = 'hooks'",
    );
    const error: unknown = await db.query(SESSION).then(
      () => null,
      (reason: unknown) => reason,
    );
    assert.ok(error === null || isTemporary(error), String(error));
    assert.equal((await db.query(SESSION)).length, 1);
  });
});

it('a server that ends each connection at once is asked once', { timeout: 30_000 }, async (t) => {
  let connections = 0;
  const stub = createServer((socket) => {
    connections++;
    socket.end();
  }).listen(0, '127.0.0.1');
  await once(stub, 'listening');
  const { port } = stub.address() as AddressInfo;
  const db = connect(`postgres://somebody@127.0.0.1:${port}/accounting?sslmode=disable`);
  t.after(async () => {
    await db.close();
    stub.close();
  });
  await assert.rejects(db.query('SELECT 1'), isTemporary);
  assert.equal(connections, 1);
});

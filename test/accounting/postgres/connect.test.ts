import assert from 'node:assert/strict';
import { setTimeout as sleep } from 'node:timers/promises';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import type { Connection, Transaction } from '../../../src/accounting/postgres/connect';
import { StoreError } from '../../../src/accounting/store-error';
import { until } from '../../support/until';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const SESSION = 'SELECT pg_backend_pid() AS pid';

function isPassing(error: unknown): boolean {
  return error instanceof StoreError && error.retry;
}

describe('a transaction whose connection goes', { skip: noPostgres }, () => {
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

  /** Ends a session, and waits until it is over. */
  async function endSession(pid: number): Promise<void> {
    await server.run(database, `SELECT pg_terminate_backend(${pid}, 60000)`);
    await sleep(50);
  }

  /** Writes in a transaction, and ends its session. */
  async function writeAndLose(inner: Transaction): Promise<void> {
    const [row] = await inner.query<{ pid: number }>(
      'INSERT INTO written VALUES (1) RETURNING pg_backend_pid() AS pid',
    );
    await endSession(row?.pid ?? 0);
  }

  async function assertNothingWritten(db: Connection): Promise<void> {
    assert.deepEqual(await db.query('SELECT step FROM written'), []);
  }

  it('fails as a whole, also between two statements', async (t) => {
    const db = opened(t);
    const failed = db.transaction(async (inner) => {
      await writeAndLose(inner);
      await inner.query('INSERT INTO written VALUES (2)');
    });
    // It waits for the connection, and gets the next one.
    const waits = db.query(SESSION);
    await assert.rejects(failed, isPassing);
    assert.equal((await waits).length, 1);
    await assertNothingWritten(db);
  });

  it('fails where only the commit was left', async (t) => {
    const db = opened(t);
    const failed = db.transaction(writeAndLose);
    await assert.rejects(failed, isPassing);
    await assertNothingWritten(db);
  });

  it('fails in the middle of a statement', async (t) => {
    const db = opened(t);
    let pid = 0;
    const failed = db.transaction(async (inner) => {
      const [row] = await inner.query<{ pid: number }>(SESSION);
      pid = row?.pid ?? 0;
      await inner.query('SELECT pg_sleep(600)');
    });
    await Promise.all([assert.rejects(failed, isPassing), until(() => pid > 0).then(() => endSession(pid))]);
  });

  it('is rolled back where a statement fails, and its connection used again', async (t) => {
    const db = opened(t);
    const failed = db.transaction(async (inner) => {
      await inner.query('INSERT INTO written VALUES (4)');
      await inner.query('SELECT 1 / 0');
    });
    await assert.rejects(failed, /division by zero/);
    await assertNothingWritten(db);
  });
});

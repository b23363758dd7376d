import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import type { Connection } from '../../../src/accounting/postgres/connect';
import { totalsHere } from '../../../src/accounting/postgres/lacking';
import { takeOver } from '../../../src/accounting/postgres/take-over';
import type { TakenOver, TakeOverWork } from '../../../src/accounting/postgres/take-over';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { openWholeStore } from '../../../src/accounting/sqlite/read/whole-store';
import { StoreError } from '../../../src/accounting/store-error';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { COMMAND } from '../../support/qmemacct';

/** The batch size of the command; take-overs within this process use batches of 20. */
const BATCH = 250;
const COUNT = 90;
/** Stops the server without a checkpoint; its sessions end with it, so that it can be started again at once. */
const AT_ONCE = 'SIGQUIT';
const OWNERS = ['alice', 'bob', 'carol'] as const;

const numbered = (id: number, more: object = {}): ReturnType<typeof job> =>
  job(id, T0 + id * 1000, { owner: OWNERS[id % 3] ?? '', cpu_seconds: id + 0.125, wallclock_seconds: 2 * id, ...more });

/** Work that begins at the first call of `begin`; `end` waits for it. */
function onlyOnce(work: () => Promise<unknown>): { readonly begin: () => void; readonly end: () => Promise<unknown> } {
  let begun: Promise<unknown> = Promise.resolve();
  let first = true;
  return {
    begin: () => {
      if (first) begun = work();
      first = false;
    },
    end: () => begun,
  };
}

describe('taking over an SQLite store', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  interface Move {
    readonly path: string;
    readonly url: string;
    readonly db: Connection;
    readonly source: ReturnType<typeof openSqliteHistory>;
    readonly run: (work?: TakeOverWork) => Promise<TakenOver>;
  }

  async function newMove(t: TestContext, count = COUNT): Promise<Move> {
    const directory = temporaryDirectory();
    const path = join(directory, 'accounting.db');
    const source = openSqliteHistory(path, 0o600);
    t.after(() => source.close());
    await source.merge(Array.from({ length: count }, (_none, index) => numbered(index + 1)));
    const url = server.url(await server.database());
    const db = connect(url);
    t.after(() => db.close());
    const run = async (work: TakeOverWork = {}): Promise<TakenOver> => {
      const from = openWholeStore(path);
      const own = connect(url);
      try {
        return await takeOver(own, from, path, { batch: 20, ...work });
      } finally {
        from.close();
        await own.close();
      }
    };
    return { path, url, db, source, run };
  }

  /** Asserts that the records of both stores have the same totals per owner. */
  async function assertSame({ path, db }: Move): Promise<void> {
    const from = openWholeStore(path);
    const sorted = (totals: readonly object[]): readonly string[] =>
      totals.map((one) => JSON.stringify(Object.entries(one).sort())).sort();
    try {
      assert.deepEqual(sorted(await totalsHere(db)), sorted(from.totals(Number.MAX_SAFE_INTEGER)));
    } finally {
      from.close();
    }
  }

  /** Starts the command, blocks it after its first batch, and sends it `signal`. Returns its status and output. */
  async function interrupted({ path, url, db }: Move, signal: NodeJS.Signals): Promise<[number | null, string]> {
    const held = await db.transaction(async (inner) => {
      await inner.query('LOCK TABLE qmemacct.taken_over IN EXCLUSIVE MODE');
      const child = spawn(process.execPath, [COMMAND, 'migrate', path, url], { stdio: ['ignore', 'pipe', 'inherit'] });
      let output = '';
      child.stdout.on('data', (piece: Buffer) => (output += piece.toString()));
      const ended = once(child, 'close') as Promise<[number | null]>;
      const waits = "SELECT FROM pg_locks WHERE NOT granted AND relation = 'qmemacct.taken_over'::regclass";
      await until(async () => (await inner.query(waits)).length > 0);
      child.kill(signal);
      if (signal === 'SIGKILL') await ended;
      return async (): Promise<[number | null, string]> => [(await ended)[0], output];
    });
    return held();
  }

  it('goes on where it was after SIGKILL and SIGINT', async (t) => {
    const move = await newMove(t, BATCH + 50);
    assert.deepEqual(await interrupted(move, 'SIGKILL'), [null, '']);
    const [status, output] = await interrupted(move, 'SIGINT');
    assert.equal(status, 3);
    assert.match(output, /interrupted: run it again to continue\n$/);
    // The signal may take effect a batch later.
    const read = Number(/^(\d+) records read/.exec(output)?.[1]);
    assert.ok(read === BATCH || read === BATCH + 50, output);
    // The command names the store differently from `run`.
    await move.db.query('UPDATE qmemacct.taken_over SET source = $1', [move.path]);
    const rest = await move.run();
    const left = BATCH + 50 - read;
    assert.deepEqual([rest.read, rest.added, rest.lacking, rest.complete], [left, left, [], true]);
    await assertSame(move);
  });

  /** Stops the server and blocks this process until it has ended, so that no batch gets in between. */
  async function stopNow(): Promise<void> {
    const status = `/proc/${server.pid}/stat`;
    const stopped = server.stop(AT_ONCE);
    // It stays a zombie as long as this process is blocked.
    while (!/^\d+ \(.*\) Z/s.test(readFileSync(status, 'latin1')))
      Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 10);
    await stopped;
  }

  it('continues after a restart of PostgreSQL, and in the next run if its patience ends', async (t) => {
    const move = await newMove(t);
    const faults: string[] = [];
    const onFault = ({ reason, retry }: StoreError): void => {
      assert.ok(retry);
      faults.push(reason);
    };
    const outage = onlyOnce(async () => {
      await stopNow();
      await server.start();
    });
    const whole = await move.run({ onFault, onProgress: outage.begin });
    await outage.end();
    assert.deepEqual([whole.complete, whole.read, whole.lacking], [true, COUNT, []]);
    assert.ok(faults.length > 0);
    await assertSame(move);

    const other = await newMove(t);
    const stop = onlyOnce(stopNow);
    const failed = other.run({ patienceMs: 0, onProgress: stop.begin });
    await assert.rejects(
      failed,
      (error) => error instanceof StoreError && error.retry && !error.message.includes('\n'),
    );
    await stop.end();
    await server.start();
    const rest = await other.run();
    assert.ok(rest.complete && rest.read < COUNT, `${rest.read} read again`);
    assert.deepEqual(rest.lacking, []);
    await assertSame(other);
  });

  it('reports lacking records and totals until another run has brought them', async (t) => {
    const move = await newMove(t);
    const stop = new AbortController();
    const first = await move.run({ signal: stop.signal, onProgress: () => stop.abort() });
    assert.deepEqual([first.complete, first.read], [false, 20]);
    await move.source.merge([numbered(9, { cpu_seconds: 1000, revision: T0 + 1e9 })]);
    await move.db.query('DELETE FROM qmemacct.record WHERE job_id IN (1, 4, 5)');
    const second = await move.run();
    assert.deepEqual(second.lacking, [
      `cluster cell: 3 of ${COUNT} records`,
      `owner bob in cluster cell: 2 of ${COUNT / 3} records, 5.250 s of cpu, 10.000 s of wallclock`,
      `owner carol in cluster cell: 1 of ${COUNT / 3} records, 5.125 s of cpu, 10.000 s of wallclock`,
      'owner alice in cluster cell: 990.875 s of cpu',
    ]);
    const third = await move.run();
    assert.deepEqual([third.read, third.added, third.changed, third.lacking], [COUNT, 3, 1, []]);
    await assertSame(move);
  });

  it('takes a record that changes meanwhile in the next run', async (t) => {
    const move = await newMove(t);
    const late = [numbered(2, { cpu_seconds: 7000, revision: T0 + 1e9 }), numbered(COUNT + 1)];
    const written = onlyOnce(() => move.source.merge(late));
    const first = await move.run({ onProgress: written.begin });
    await written.end();
    assert.deepEqual([first.read, first.lacking], [COUNT + 1, []]);
    const second = await move.run();
    assert.deepEqual([second.added, second.changed], [0, 1]);
    await assertSame(move);
  });

  it('recognises a short accounting file that has grown and was imported into the new store', async (t) => {
    const move = await newMove(t, 1);
    const file = {
      cluster: 'cell',
      path: '/a',
      device: 1,
      inode: 2,
      head: 'short',
      headBytes: 900,
      offset: 900,
      tail: 'short',
      lines: 9,
    };
    await move.source.importLines({ file, before: null, lines: [], unreadable: [] });
    assert.equal((await move.run()).files, 1);
    await move.db.query('UPDATE qmemacct.imported_file SET head = \'longer\', head_bytes = 1800, "offset" = 1800');
    assert.deepEqual(await move.run().then(({ files, lacking }) => [files, lacking]), [0, []]);
    await move.db.query('UPDATE qmemacct.imported_file SET inode = 3');
    assert.equal((await move.run()).files, 1);
  });

  it('reports damaged records, and takes the others', async (t) => {
    const move = await newMove(t);
    const raw = new SqliteDatabase(move.path);
    raw.exec(
      "UPDATE record SET granted_hosts = '[{' WHERE job_id = 77; UPDATE record SET status = 9 WHERE job_id = 78",
    );
    raw.close();
    const { added, refused, lacking, there, here } = await move.run();
    assert.deepEqual([added, lacking, there, here], [COUNT - 2, [], COUNT, COUNT - 2]);
    assert.match(
      refused.join('\n'),
      /^record 77 \(job 77\): a stored record .*\nrecord 78 \(job 78\): a stored record .*$/,
    );
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, closeSync, openSync, readdirSync, rmSync, writeSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import type { StoredRecord } from '../../src/record/merge';
import { openPostgresHistory } from '../../src/accounting/postgres/postgres-history';
import type { AccountingReader } from '../../src/accounting/store';
import { openSqliteReader } from '../../src/accounting/sqlite/sqlite-store';
import { SqliteDatabase } from '../../src/native/sqlite';
import { recordKeyText } from '../../src/record/record';
import { deliveriesOf, underFire } from '../accounting/nodes-under-fire';
import type { Fire } from '../accounting/nodes-under-fire';
import { seededRandom } from '../accounting/realistic-record';
import { noPostgres, startServer } from '../accounting/postgres/server';
import { cannotRun, sharedStore, UNPRIVILEGED } from '../accounting/run-deliverer';
import { temporaryDirectory } from '../support/temporary-directory';
import { often } from '../support/thorough';

const NODES = 50;
const DELIVERIES = often(5, 10);

/** A trouble of the store: comes at a share of the rows, and goes once deliverers have said so often enough. */
interface Trouble {
  readonly at: number;
  readonly says: RegExp;
  readonly begin: () => void;
  readonly end: () => void | Promise<void>;
}

const ENOUGH = 5;
/** What is handed over beyond the share at which a trouble comes: all may be in the store before that is heard. */
const AHEAD = 0.1;

/**
 * The hooks of a fire that bring its troubles, one after the other, and how often each was told. No rows are handed over
 * that a trouble is to meet before it has come.
 */
function troubles(
  list: readonly Trouble[],
): Pick<Fire, 'onConfirmed' | 'onComplaint' | 'mostHanded'> & { told: () => readonly number[] } {
  const told = list.map(() => 0);
  let begun = 0;
  let over = 0;
  let share = 0;
  // All that may be handed over may be confirmed before a trouble is over: nothing more is heard then.
  const beginNext = (): void => {
    const next = list[begun];
    if (next === undefined || over < begun || share < next.at) return;
    begun++;
    next.begin();
  };
  return {
    told: () => told,
    mostHanded: () => (list[begun]?.at ?? 1) + AHEAD,
    onConfirmed: (confirmed, of) => {
      share = confirmed / of;
      beginNext();
    },
    onComplaint: (complaint) => {
      for (const [index, { says, end }] of list.entries()) {
        if (index >= begun || !says.test(complaint)) continue;
        told[index] = (told[index] ?? 0) + 1;
        if (told[index] === ENOUGH)
          void Promise.resolve(end()).then(() => {
            over++;
            beginNext();
          });
      }
    },
  };
}

async function assertHolds(reader: AccountingReader, expected: ReadonlyMap<string, StoredRecord>): Promise<void> {
  for (const [key, { record }] of expected) {
    const { records } = await reader.job({ job_id: record.job_id, all: true });
    const found = records.filter((attempt) => recordKeyText(attempt.record) === key);
    assert.deepEqual(
      found.map((attempt) => attempt.record),
      [record],
    );
  }
}

/** A small file system of the deliverers' own; false where none can be mounted. */
function mountTmpfs(directory: string, size: string): boolean {
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', directory]).status !== 0)
    return false;
  chownSync(directory, UNPRIVILEGED.uid ?? 0, UNPRIVILEGED.gid ?? 0);
  return true;
}

/** A file that takes all the room there is. */
function fill(path: string): void {
  const file = openSync(path, 'w');
  const zeros = Buffer.alloc(65_536);
  for (let size = zeros.length; size >= 1; size = Math.floor(size / 2))
    try {
      for (;;) writeSync(file, zeros, 0, size);
    } catch (error) {
      assert.equal((error as NodeJS.ErrnoException).code, 'ENOSPC');
    }
  closeSync(file);
}

async function delivers(
  t: TestContext,
  args: readonly string[],
  list: readonly Trouble[],
  kills: number,
): Promise<ReadonlyMap<string, StoredRecord>> {
  const seed = Date.now() % 1e6;
  const random = seededRandom(seed);
  const { nodes, expected } = deliveriesOf(NODES, DELIVERIES, random);
  const { told, ...hooks } = troubles(list);
  const ashes = await underFire({ args, nodes, random, kills, ...hooks });
  const { refused, ...figures } = ashes;
  t.diagnostic(`seed ${seed}: ${JSON.stringify({ ...figures, told: told() })}`);
  assert.deepEqual(refused, []);
  assert.ok(ashes.killed >= 10 && ashes.killedAtWork > 0, 'deliverers were killed at work');
  assert.ok(
    told().every((times) => times >= ENOUGH),
    'every trouble was met',
  );
  return expected;
}

describe('exactly once, from 50 deliverers at once', { skip: cannotRun(), timeout: 2_000_000 }, () => {
  it('into SQLite: SIGKILLs, a full disk, a directory that is read-only for a while', async (t) => {
    const path = sharedStore();
    const mount = dirname(path);
    const isMount = mountTmpfs(mount, '24m');
    try {
      if (!isMount) t.diagnostic("no file system can be mounted here: the disk won't be full");
      const ballast = join(mount, 'ballast');
      const full: Trouble = {
        at: 0.25,
        says: /its file system is full/,
        begin: () => {
          fill(ballast);
        },
        end: () => {
          rmSync(ballast);
        },
      };
      const readOnly: Trouble = {
        at: 0.6,
        says: /may not (?:write|open|enter)|make the file and its directory writable/,
        begin: () => {
          chmodSync(mount, 0o555);
        },
        end: () => {
          chmodSync(mount, 0o755);
        },
      };
      const expected = await delivers(
        t,
        ['--accounting', path],
        isMount ? [full, readOnly] : [readOnly],
        often(20, 40),
      );
      const db = new SqliteDatabase(path, { readonly: true });
      assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
      assert.equal(db.prepare('SELECT count(*) FROM record').pluck().get(), expected.size);
      db.close();
      const reader = openSqliteReader(path);
      await assertHolds(reader, expected);
      await reader.close();
      // A creator of the store that was killed leaves its draft, a hidden file.
      assert.deepEqual(
        readdirSync(mount).filter((name) => !name.startsWith('.')),
        [basename(path)],
      );
    } finally {
      if (isMount) spawnSync('umount', ['-l', mount]);
    }
  });

  it(
    'into PostgreSQL: SIGKILLs, also of the server, its shutdown at once, a full disk',
    { skip: noPostgres },
    async (t) => {
      const mount = temporaryDirectory();
      const isMount = mountTmpfs(mount, '160m');
      // The server's directory is to be in there.
      const before = process.env.TMPDIR;
      process.env.TMPDIR = mount;
      const server = await startServer({ settings: ['min_wal_size = 32MB', 'max_wal_size = 48MB'] }).finally(() => {
        if (before === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = before;
      });
      try {
        if (!isMount) t.diagnostic("no file system can be mounted here: the disk won't be full");
        // The deliverers, who are nobody, come through to the socket.
        chmodSync(server.directory, 0o711);
        const database = await server.database();
        let starting = Promise.resolve();
        const dies = (at: number, signal: NodeJS.Signals): Trouble => ({
          at,
          says: /the server does not answer|the server is starting or stopping/,
          begin: () => void server.stop(signal),
          end: () => (starting = server.start()),
        });
        const ballast = join(mount, 'ballast');
        const full: Trouble = {
          at: 0.6,
          // A checkpoint that has no room ends the server.
          says: /server's disk is full|the server does not answer|the server is starting or stopping/,
          begin: () => {
            fill(ballast);
          },
          end: () => {
            rmSync(ballast);
            return (starting = server.start());
          },
        };
        const list = [dies(0.2, 'SIGKILL'), dies(0.4, 'SIGQUIT'), ...(isMount ? [full] : [])];
        // As a site does it: the hooks' role may deliver, and nothing else.
        await server.run(database, 'CREATE ROLE hooks LOGIN IN ROLE qmemacct_deliver');
        const expected = await delivers(t, ['--accounting', server.url(database, 'hooks')], list, often(20, 25));
        await starting;
        const store = openPostgresHistory(server.url(database));
        // While all of it waits in the inbox; then in the table.
        await assertHolds(store, expected);
        const mergers = [1, 2].map(() => openPostgresHistory(server.url(database)));
        await Promise.all(mergers.map((merger) => merger.settle()));
        await assertHolds(store, expected);
        await Promise.all([store, ...mergers].map((one) => one.close()));
        const [counted] = await server.run(database, 'SELECT count(*) AS records FROM qmemacct.record');
        assert.deepEqual(counted, { records: expected.size });
      } finally {
        await server.remove();
        if (isMount) spawnSync('umount', ['-l', mount]);
      }
    },
  );
});

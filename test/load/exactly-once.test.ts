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

/** A fault of the store: begins at a share of confirmed records, ends once deliverers have reported it often enough. */
interface Fault {
  readonly at: number;
  readonly report: RegExp;
  readonly begin: () => void;
  readonly end: () => void | Promise<void>;
}

const ENOUGH_REPORTS = 5;
/** The share of records handed over ahead of the next fault: all of them may be stored before that is noticed. */
const AHEAD = 0.1;

/**
 * Hooks that bring the faults one after the other, and how often each was reported. Records that are to meet a fault
 * are not handed over before it has begun.
 */
function faultHooks(
  list: readonly Fault[],
): Pick<Fire, 'onConfirmed' | 'onComplaint' | 'mostHanded'> & { reports: () => readonly number[] } {
  const reports = list.map(() => 0);
  let begun = 0;
  let ended = 0;
  let share = 0;
  // Everything handed over may be confirmed before a fault ends: onConfirmed is not called again then.
  const beginNext = (): void => {
    const next = list[begun];
    if (next === undefined || ended < begun || share < next.at) return;
    begun++;
    next.begin();
  };
  return {
    reports: () => reports,
    mostHanded: () => (list[begun]?.at ?? 1) + AHEAD,
    onConfirmed: (confirmed, of) => {
      share = confirmed / of;
      beginNext();
    },
    onComplaint: (complaint) => {
      for (const [index, { report, end }] of list.entries()) {
        if (index >= begun || !report.test(complaint)) continue;
        reports[index] = (reports[index] ?? 0) + 1;
        if (reports[index] === ENOUGH_REPORTS)
          void Promise.resolve(end()).then(() => {
            ended++;
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

/** Mounts a small file system for the deliverers; false where that is not possible. */
function mountTmpfs(directory: string, size: string): boolean {
  if (spawnSync('mount', ['-t', 'tmpfs', '-o', `size=${size},mode=0755`, 'tmpfs', directory]).status !== 0)
    return false;
  chownSync(directory, UNPRIVILEGED.uid ?? 0, UNPRIVILEGED.gid ?? 0);
  return true;
}

/** Writes a file that fills its file system. */
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
  list: readonly Fault[],
  kills: number,
): Promise<ReadonlyMap<string, StoredRecord>> {
  const seed = Date.now() % 1e6;
  const random = seededRandom(seed);
  const { nodes, expected } = deliveriesOf(NODES, DELIVERIES, random);
  const { reports, ...hooks } = faultHooks(list);
  const outcome = await underFire({ args, nodes, random, kills, ...hooks });
  const { refused, ...figures } = outcome;
  t.diagnostic(`seed ${seed}: ${JSON.stringify({ ...figures, reports: reports() })}`);
  assert.deepEqual(refused, []);
  assert.ok(outcome.killed >= 10 && outcome.killedAtWork > 0, 'deliverers were killed at work');
  assert.ok(
    reports().every((times) => times >= ENOUGH_REPORTS),
    'every fault was met',
  );
  return expected;
}

describe('50 deliverers at once', { skip: cannotRun(), timeout: 2_000_000 }, () => {
  it('deliver every record exactly once into SQLite through SIGKILLs, a full disk and a read-only directory', async (t) => {
    const path = sharedStore();
    const mount = dirname(path);
    const isMount = mountTmpfs(mount, '24m');
    try {
      if (!isMount) t.diagnostic("no file system can be mounted here: the disk won't be full");
      const ballast = join(mount, 'ballast');
      const full: Fault = {
        at: 0.25,
        report: /its file system is full/,
        begin: () => {
          fill(ballast);
        },
        end: () => {
          rmSync(ballast);
        },
      };
      const readOnly: Fault = {
        at: 0.6,
        report: /may not (?:write|open|enter)|make the file and its directory writable/,
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
    'deliver every record exactly once into PostgreSQL through SIGKILLs, a killed and a stopped server and a full disk',
    { skip: noPostgres },
    async (t) => {
      const mount = temporaryDirectory();
      const isMount = mountTmpfs(mount, '160m');
      // The server makes its directory in there.
      const before = process.env.TMPDIR;
      process.env.TMPDIR = mount;
      const server = await startServer({ settings: ['min_wal_size = 32MB', 'max_wal_size = 48MB'] }).finally(() => {
        if (before === undefined) delete process.env.TMPDIR;
        else process.env.TMPDIR = before;
      });
      try {
        if (!isMount) t.diagnostic("no file system can be mounted here: the disk won't be full");
        // Lets the deliverers, which run as nobody, reach the socket.
        chmodSync(server.directory, 0o711);
        const database = await server.database();
        let starting = Promise.resolve();
        const serverEnds = (at: number, signal: NodeJS.Signals): Fault => ({
          at,
          report: /the server does not answer|the server is starting or stopping/,
          begin: () => void server.stop(signal),
          end: () => (starting = server.start()),
        });
        const ballast = join(mount, 'ballast');
        const full: Fault = {
          at: 0.6,
          // A checkpoint without room ends the server.
          report: /server's disk is full|the server does not answer|the server is starting or stopping/,
          begin: () => {
            fill(ballast);
          },
          end: () => {
            rmSync(ballast);
            return (starting = server.start());
          },
        };
        const list = [serverEnds(0.2, 'SIGKILL'), serverEnds(0.4, 'SIGQUIT'), ...(isMount ? [full] : [])];
        // As at a site: the hooks' role may only deliver.
        await server.run(database, 'CREATE ROLE hooks LOGIN IN ROLE qmemacct_deliver');
        const expected = await delivers(t, ['--accounting', server.url(database, 'hooks')], list, often(20, 25));
        await starting;
        const store = openPostgresHistory(server.url(database));
        // First while all records wait in the inbox, then in the table.
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

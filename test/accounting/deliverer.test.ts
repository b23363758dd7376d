import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { SQLITE_PACKAGE, SqliteDatabase } from '../../src/native/sqlite';
import { userName } from '../../src/base/user-name';
import { delivererOptions } from '../../src/accounting/deliverer-options';
import { openSqliteReader, openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../src/record/record';
import { realisticRecords } from './realistic-record';
import { cannotRun, deliver, lineOf, sharedStore, startDeliverer, UNPRIVILEGED } from './run-deliverer';
import type { DeliveredRow } from './run-deliverer';
import { temporaryStore } from './temporary-store';
import { until } from '../support/until';

const skip = cannotRun();
const isRoot = process.geteuid?.() === 0;

function firstRecords(count: number, seed = 1): readonly JobRecord[] {
  const { next } = realisticRecords(seed);
  return Array.from({ length: count }, next);
}

function countStored(path: string): number {
  const db = new SqliteDatabase(path, { readonly: true });
  const count = db.prepare('SELECT count(*) FROM record').pluck().get() as number;
  assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
  db.close();
  return count;
}

/** Makes a store with one record, as the deliverer would, at a path of `sharedStore`. */
async function makeStore(path: string): Promise<void> {
  // Root trusts no directory of another user.
  const own = temporaryStore();
  const store = openSqliteStore(own, 0o640);
  for (const { ok } of await store.merge(firstRecords(1))) assert.ok(ok);
  await store.close();
  copyFileSync(own, path);
  chmodSync(path, 0o640);
  if (UNPRIVILEGED.uid !== undefined) chownSync(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
}

/** Asserts that the store has exactly these records. */
async function assertHolds(path: string, records: readonly JobRecord[]): Promise<void> {
  assert.equal(countStored(path), records.length);
  const reader = openSqliteReader(path);
  for (const record of records) {
    const { job_id, task_id } = record;
    const { records: found } = await reader.job({ job_id, all: true, ...(task_id === null ? {} : { task_id }) });
    assert.deepEqual(
      found.filter(({ record: { run_id } }) => run_id === record.run_id).map((attempt) => attempt.record),
      [record],
    );
  }
  await reader.close();
}

function hasOpen(pid: number, path: string): boolean {
  return readdirSync(`/proc/${pid}/fd`).some((fd) => {
    try {
      return readlinkSync(`/proc/${pid}/fd/${fd}`) === path;
    } catch {
      // Closed in the meantime.
      return false;
    }
  });
}

function assertAllOk(rows: readonly DeliveredRow[], count: number): void {
  assert.deepEqual(
    rows.filter(({ ok }) => !ok),
    [],
  );
  assert.deepEqual(
    rows.map(({ id }) => id),
    Array.from({ length: count }, (_unused, id) => id),
  );
}

describe('deliverer', { skip }, () => {
  it('creates the store, merges, and answers each row', async () => {
    const path = sharedStore();
    const records = firstRecords(1200);
    const { status, rows, complaints } = await deliver(path, records);
    assert.deepEqual([status, complaints], [0, []]);
    assertAllOk(rows, 1200);
    await assertHolds(path, records);
    const { mode, uid } = statSync(path);
    assert.deepEqual([mode & 0o777, uid], [0o640, UNPRIVILEGED.uid ?? process.geteuid?.()]);
  });

  it('answers a row before the next one comes', async () => {
    const path = sharedStore();
    const { process: child, finished } = startDeliverer(['--accounting', path]);
    for (const [id, record] of firstRecords(3).entries()) {
      child.stdin.write(lineOf(id, record));
      await once(child.stdout, 'data');
      assert.equal(countStored(path), id + 1);
    }
    child.stdin.end();
    assertAllOk((await finished).rows, 3);
  });

  it('makes no store without records', async () => {
    const path = sharedStore();
    assert.deepEqual(await deliver(path, []), { status: 0, rows: [], complaints: [] });
    assert.throws(() => statSync(path));
  });

  it('sets unusable rows aside and stores the others', async () => {
    const path = sharedStore();
    const [good] = firstRecords(1);
    assert.ok(good);
    const { process: child, finished } = startDeliverer(['--accounting', path]);
    child.stdin.write('not json\n{"record":{}}\n{"id":1}\n');
    child.stdin.write(`${JSON.stringify({ id: 2, record: { ...good, cpu_seconds: -1 } })}\n`);
    child.stdin.end(`${lineOf(3, good)}{"id":4,"record":{"clus`);
    const { status, rows } = await finished;
    assert.equal(status, 0);
    assert.deepEqual(
      rows.map(({ id, ok, retry, error }) => [id, ok, retry, error]),
      [
        [null, false, false, 'the line is not JSON'],
        [null, false, false, 'the line has no id'],
        [1, false, false, 'the record is not an object'],
        [2, false, false, 'cpu_seconds is not a number of 0 to 1000000000000'],
        [3, true, undefined, undefined],
      ],
    );
  });

  it('refuses wrong arguments in one line', async () => {
    for (const [args, expected] of [
      [[], /^the accounting DB's absolute path or URL is missing; usage: deliverer\.js.*$/],
      [['--accounting'], /^"--accounting" is unknown or lacks its value.*$/],
      [['--accounting', 'relative.db'], /^the accounting DB's absolute path or URL is missing.*$/],
      [['--accounting', 'postgres://bob:secret@host/db'], /^.* holds a password; use --credentials$/],
      [['--accounting', '/x', '--mode', '999'], /^--mode "999" is not an octal permission.*$/],
      [['--accounting', '/x', '--patience', 'long'], /^--patience is not a number.*$/],
      [['--colour'], /^"--colour" is unknown.*$/],
    ] as const)
      assert.throws(() => delivererOptions(args), { message: expected });
    const { process: child, finished } = startDeliverer(['--colour']);
    child.stdin.end();
    const { status, complaints } = await finished;
    assert.deepEqual([status, complaints.length], [2, 1]);
    assert.match(complaints[0] ?? '', /: "--colour" is unknown/);
  });

  it('refuses to run as root without --allow-root', { skip: !isRoot && 'not root' }, async () => {
    const path = sharedStore();
    const { process: child, finished } = startDeliverer(['--accounting', path], { asRoot: true });
    child.stdin.end();
    const { status, complaints } = await finished;
    assert.equal(status, 2);
    assert.match(complaints[0] ?? '', /will not open a shared store as root; set deliver_as/);
    for (const directory of [dirname(path), dirname(dirname(path))]) chownSync(directory, 0, 0);
    const allowed = startDeliverer(['--accounting', path, '--allow-root'], { asRoot: true });
    allowed.process.stdin.end(
      firstRecords(1)
        .map((record, id) => lineOf(id, record))
        .join(''),
    );
    assertAllOk((await allowed.finished).rows, 1);
  });
});

describe('deliverer: faults of the store', { skip }, () => {
  /** Asserts that all rows fail with `expected` and may be delivered later, and that stderr has one line. */
  async function assertRefused(path: string, expected: RegExp, patience = '0'): Promise<void> {
    const { status, rows, complaints } = await deliver(path, firstRecords(3), '--patience', patience);
    assert.equal(status, 3);
    assert.deepEqual(
      rows.map(({ id, ok, retry }) => [id, ok, retry]),
      [
        [0, false, true],
        [1, false, true],
        [2, false, true],
      ],
    );
    assert.match(rows[0]?.error ?? '', expected);
    assert.equal(complaints.length, 1, complaints.join('\n'));
    assert.match(complaints[0] ?? '', expected);
  }

  /** Locks the store in another process, until the returned function is called or the test ends. */
  async function holdLock(t: TestContext, path: string): Promise<() => void> {
    const script = `
      const db = new (require(process.argv[1]))(process.argv[2]);
      db.exec('BEGIN EXCLUSIVE');
      console.log('locked');
      process.stdin.once('data', () => db.exec('ROLLBACK'));`;
    const child = spawn(process.execPath, ['-e', script, require.resolve(SQLITE_PACKAGE), path]);
    t.after(() => child.kill());
    await once(child.stdout, 'data');
    return () => void child.stdin.write('let go\n');
  }

  it('waits while another process holds the lock', async (t) => {
    const path = sharedStore();
    await makeStore(path);
    const letGo = await holdLock(t, path);
    const { process: child, finished } = startDeliverer(['--accounting', path, '--mode', '0640']);
    child.stdin.end(
      firstRecords(3)
        .map((record, id) => lineOf(id, record))
        .join(''),
    );
    await until(() => hasOpen(child.pid ?? 0, path), 'the store is opened');
    assert.equal(child.exitCode, null);
    letGo();
    const { status, rows } = await finished;
    assert.equal(status, 0);
    assertAllOk(rows, 3);
    await assertHolds(path, firstRecords(3));
  });

  it('gives up on a lock that is held beyond its patience', async (t) => {
    const path = sharedStore();
    await makeStore(path);
    await holdLock(t, path);
    await assertRefused(path, /accounting\.db: it is locked by another process; try again/);
  });

  it('waits for a missing directory, and reports it once', async () => {
    const path = sharedStore();
    const away = `${dirname(path)}.away`;
    renameSync(dirname(path), away);
    const { process: child, finished } = startDeliverer(['--accounting', path, '--mode', '0640', '--patience', '120']);
    child.stdin.end(
      firstRecords(3)
        .map((record, id) => lineOf(id, record))
        .join(''),
    );
    await once(child.stderr, 'data');
    renameSync(away, dirname(path));
    const { status, rows, complaints } = await finished;
    assert.equal(status, 0);
    assertAllOk(rows, 3);
    assert.equal(complaints.length, 1, 'the same fault is reported once');
    assert.match(complaints[0] ?? '', /it does not exist; check its path: "accounting"/);
  });

  it('gives up on a missing directory at the end of its patience', async () => {
    await assertRefused(join(dirname(sharedStore()), 'missing', 'accounting.db'), /it does not exist/, '1');
  });

  it('names the fix for a store that it may not write, and delivers once it may', async () => {
    const path = sharedStore();
    chmodSync(dirname(path), 0o555);
    const user = userName(UNPRIVILEGED.uid ?? process.geteuid?.() ?? 0);
    const refusal = (what: string, fix: string): RegExp => new RegExp(`: user "${user}" may not ${what}; ${fix}`);
    const directory = dirname(path);
    await assertRefused(path, refusal(`write ${directory}`, `chmod u\\+w ${directory}`));
    if (isRoot) {
      // As if an admin made the directory as root and deliver_as is nobody.
      chownSync(directory, 0, 0);
      const chown = `chown ${user} ${directory}, or set deliver_as to a user who may write there`;
      await assertRefused(path, refusal(`write ${directory}`, chown));
      chownSync(directory, 1, 1);
      await assertRefused(
        path,
        refusal(`write ${directory}`, `chown ${user} ${directory}, or set deliver_as = "daemon"`),
      );
      chmodSync(directory, 0o700);
      await assertRefused(path, refusal(`enter ${directory}`, `chmod a\\+x ${directory}`));
      chownSync(directory, UNPRIVILEGED.uid ?? 0, 0);
    }
    chmodSync(dirname(path), 0o755);
    await makeStore(path);
    chmodSync(dirname(path), 0o555);
    await assertRefused(path, refusal(`write ${directory}`, `chmod u\\+w ${directory}`));
    chmodSync(dirname(path), 0o755);
    // An owner could mend the permissions, so root owns the file.
    if (isRoot) {
      chownSync(path, 0, 0);
      chmodSync(path, 0o444);
      await assertRefused(path, refusal(`write ${path}`, `chown ${user} ${path}, or set deliver_as to a user`));
      chownSync(path, UNPRIVILEGED.uid ?? 0, 0);
    }
    assertAllOk((await deliver(path, firstRecords(3))).rows, 3);
    await assertHolds(path, firstRecords(3));
  });

  it('gives up at once on a file that is not a database', async () => {
    const path = sharedStore();
    writeFileSync(path, 'garbage'.repeat(1000));
    if (UNPRIVILEGED.uid !== undefined) chownSync(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
    const began = Date.now();
    await assertRefused(path, /it is not a database/, '60');
    // Its patience is 60 s.
    assert.ok(Date.now() - began < 45_000);
  });

  it('gives up on a store with a newer schema', async () => {
    const path = sharedStore();
    await makeStore(path);
    const db = new SqliteDatabase(path);
    db.pragma('user_version = 99');
    db.close();
    await assertRefused(path, /it has schema 99, this qmemacct knows/, '60');
  });

  it('keeps what it confirmed when the disk is full, and delivers the rest once there is room', async (t) => {
    const path = sharedStore();
    const mount = dirname(path);
    const tmpfs = (options: string): boolean =>
      spawnSync('mount', ['-t', 'tmpfs', '-o', options, 'tmpfs', mount]).status === 0;
    // The empty tables take a third of this size.
    if (!isRoot || !tmpfs('size=1600k,mode=0755')) {
      t.skip("tmpfs can't be mounted here");
      return;
    }
    try {
      chownSync(mount, UNPRIVILEGED.uid ?? 0, 0);
      const records = firstRecords(3000);
      const full = await deliver(path, records, '--patience', '0');
      assert.equal(full.status, 3);
      const failed = full.rows.filter(({ ok }) => !ok);
      const answered = full.rows.filter(({ ok }) => ok).length;
      assert.ok(answered > 0 && failed.length > 0);
      assert.match(failed[0]?.error ?? '', /its file system is full; make room there/);
      assert.ok(failed.every(({ retry }) => retry));
      assert.equal(countStored(path), answered);
      assert.ok(tmpfs('remount,size=64m'));
      assertAllOk((await deliver(path, records)).rows, records.length);
      await assertHolds(path, records);
    } finally {
      spawnSync('umount', ['-l', mount]);
    }
  });
});

describe('deliverer: exactly once', { skip }, () => {
  it('stores each record of ten deliverers that start at once without a store', async (t) => {
    const path = sharedStore();
    const records = firstRecords(1000);
    const shared = records.slice(0, 100);
    const began = Date.now();
    const deliveries = await Promise.all(
      Array.from({ length: 10 }, (_unused, host) =>
        deliver(path, [...records.slice(host * 100, host * 100 + 100), ...shared]),
      ),
    );
    t.diagnostic(`10 deliverers, 2000 rows: ${Date.now() - began} ms`);
    for (const { status, rows } of deliveries) {
      assert.equal(status, 0);
      assertAllOk(rows, 200);
    }
    await assertHolds(path, records);
    assert.deepEqual(readdirSync(dirname(path)), ['accounting.db']);
  });
});

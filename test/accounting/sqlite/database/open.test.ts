import assert from 'node:assert/strict';
import {
  chmodSync,
  closeSync,
  copyFileSync,
  mkdirSync,
  openSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  truncateSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { dirname } from 'node:path';
import { describe, it } from 'node:test';
import { SqliteDatabase } from '../../../../src/native/sqlite';
import { openForReading, openForWriting } from '../../../../src/accounting/sqlite/database/open';
import { openSqliteReader, openSqliteStore } from '../../../../src/accounting/sqlite/sqlite-store';
import { StoreError } from '../../../../src/accounting/store-error';
import { realisticRecords } from '../../realistic-record';
import { temporaryStore } from '../../temporary-store';

function fault(step: () => unknown): StoreError {
  try {
    step();
  } catch (error) {
    assert.ok(error instanceof StoreError, String(error));
    assert.ok(!error.message.includes('\n'));
    return error;
  }
  return assert.fail('no error');
}

function overwrite(path: string, at: number, bytes: Buffer): void {
  const file = openSync(path, 'r+');
  writeSync(file, bytes, 0, bytes.length, at);
  closeSync(file);
}

describe('openForWriting', () => {
  it('creates the file with its permissions whatever the umask, and no other file', (t) => {
    const path = temporaryStore();
    const before = process.umask(0o077);
    t.after(() => process.umask(before));
    openForWriting(path, 0o644).close();
    assert.equal(statSync(path).mode & 0o777, 0o644);
    assert.deepEqual(readdirSync(dirname(path)), ['accounting.db']);
    openForWriting(path, 0o640).close();
    assert.equal(statSync(path).mode & 0o777, 0o640);
  });

  it('opens with a rollback journal, full synchronisation and a protected schema', (t) => {
    const path = temporaryStore();
    const db = openForWriting(path, 0o640);
    t.after(() => db.close());
    const pragma = (name: string): unknown => db.pragma(name, { simple: true });
    assert.deepEqual(['journal_mode', 'synchronous', 'trusted_schema'].map(pragma), ['delete', 3, 0]);
    db.exec('PRAGMA writable_schema = ON');
    assert.throws(() => db.exec("UPDATE sqlite_schema SET sql = 'x'"), /may not be modified/);
  });

  it('takes a file out of WAL mode on a local file system', () => {
    const path = temporaryStore();
    openForWriting(path, 0o640).close();
    const db = new SqliteDatabase(path);
    db.pragma('journal_mode = WAL');
    db.close();
    const again = openForWriting(path, 0o640);
    assert.equal(again.pragma('journal_mode', { simple: true }), 'delete');
    again.close();
  });

  it('refuses a symbolic link, a directory, and a directory that everyone may write to', () => {
    const path = temporaryStore();
    writeFileSync(`${path}.real`, '');
    symlinkSync(`${path}.real`, path);
    assert.match(fault(() => openForWriting(path, 0o640)).message, /it is a symbolic link; set "accounting"/);
    const directory = temporaryStore();
    mkdirSync(directory);
    assert.match(fault(() => openForWriting(directory, 0o640)).message, /not a regular file/);
    const open = temporaryStore();
    chmodSync(dirname(open), 0o1777);
    assert.match(fault(() => openForWriting(open, 0o640)).message, /everyone may write to .*; chmod o-w/);
  });

  it(
    'as root, refuses a file or directory that a group may write to',
    { skip: process.geteuid?.() !== 0 && 'not root' },
    () => {
      const path = temporaryStore();
      openForWriting(path, 0o640).close();
      chmodSync(path, 0o660);
      assert.match(
        fault(() => openForWriting(path, 0o660)).message,
        /root would trust it, and group 0 can write to \S+accounting/,
      );
      chmodSync(path, 0o640);
      chmodSync(dirname(path), 0o770);
      assert.match(fault(() => openForWriting(path, 0o640)).message, /root would trust it, and group 0 can write to /);
    },
  );

  it('does not make a missing directory, since a mount may be missing', () => {
    const path = `${dirname(temporaryStore())}/missing/accounting.db`;
    const error = fault(() => openForWriting(path, 0o640));
    assert.match(error.message, /it does not exist; check its path: "accounting".*mounted/);
    assert.equal(error.retry, true);
  });
});

describe('openForReading', () => {
  it('reports a missing file, and does not make it', () => {
    const path = temporaryStore();
    assert.match(fault(() => openForReading(path)).message, /accounting\.db: it does not exist; check/);
    assert.deepEqual(readdirSync(dirname(path)), []);
  });

  it('reports a file that is not a database, or not one of qmemacct', () => {
    const path = temporaryStore();
    writeFileSync(path, 'no database at all'.repeat(1000));
    const error = fault(() => openForReading(path));
    assert.match(error.message, /it is not a database; check its path: "accounting".*; or it is damaged: restore it/);
    assert.equal(error.retry, false);
    const directory = fault(() => openForReading(dirname(path)));
    assert.match(directory.message, /it is a directory; check its path: "accounting"/);
    assert.equal(directory.retry, false);
    const other = temporaryStore();
    new SqliteDatabase(other).exec('CREATE TABLE t (x)').close();
    assert.match(fault(() => openForReading(other)).message, /not an accounting DB of qmemacct/);
    assert.match(fault(() => openForWriting(other, 0o640)).message, /not an accounting DB of qmemacct/);
  });

  it('reports a newer schema', () => {
    const path = temporaryStore();
    const db = openForWriting(path, 0o640);
    db.pragma('user_version = 99');
    db.close();
    for (const error of [fault(() => openForReading(path)), fault(() => openForWriting(path, 0o640))]) {
      assert.match(error.message, /it has schema 99, this qmemacct knows up to \d+; upgrade/);
      assert.equal(error.retry, false);
    }
  });

  it('reports damage of a file that was overwritten or cut off', async () => {
    const whole = temporaryStore();
    const store = openSqliteStore(whole, 0o640);
    const { next } = realisticRecords();
    const records = Array.from({ length: 2000 }, next);
    await store.merge(records);
    await store.close();
    const { size } = statSync(whole);
    for (const damage of ['overwrite', 'cut'] as const) {
      const path = temporaryStore();
      copyFileSync(whole, path);
      if (damage === 'cut') truncateSync(path, Math.floor(size / 2 / 4096) * 4096);
      else overwrite(path, 4096, Buffer.alloc(size - 4096, 0xa5));
      await assert.rejects(
        async () => {
          const reader = openSqliteReader(path);
          for (const record of records) await reader.job({ job_id: record.job_id });
        },
        (error: unknown) => {
          assert.ok(error instanceof StoreError, String(error));
          assert.match(error.message, /it is damaged; .*restore it from a backup/);
          assert.equal(error.retry, false);
          return true;
        },
      );
    }
  });

  it('waits 5 s for a writer', (t) => {
    const path = temporaryStore();
    const db = openForWriting(path, 0o640);
    t.after(() => db.close());
    db.exec('BEGIN EXCLUSIVE');
    const began = Date.now();
    const error = fault(() => openForReading(path));
    const waited = Date.now() - began;
    assert.match(error.message, /it is locked by another process; try again/);
    assert.equal(error.retry, true);
    // No upper bound: SQLite counts the pauses that it asks for, and a busy machine makes them longer.
    assert.ok(waited > 4000, `${waited} ms`);
  });

  it('reports a change that a dead writer left unfinished, until it is opened for writing', async () => {
    const path = temporaryStore();
    const store = openSqliteStore(path, 0o640);
    const { next } = realisticRecords();
    await store.merge(Array.from({ length: 100 }, next));
    await store.close();
    const db = new SqliteDatabase(path);
    db.pragma('cache_spill = 1');
    db.pragma('cache_size = 1');
    db.exec('BEGIN IMMEDIATE; UPDATE record SET signal = 9, note_numbers = zeroblob(4000)');
    // Copy what a writer that is killed now would leave behind: pages and a journal.
    const copy = temporaryStore();
    const copied = (from: string, to: string): void => writeFileSync(to, readFileSync(from));
    copied(path, copy);
    copied(`${path}-journal`, `${copy}-journal`);
    db.exec('ROLLBACK');
    db.close();
    const error = fault(() => openForReading(copy));
    assert.match(error.message, /a writer that died left it in the middle of a change; the next delivery/);
    assert.equal(error.retry, true);
    openForWriting(copy, 0o640).close();
    const mended = openForReading(copy);
    assert.equal(mended.prepare('SELECT count(*) FROM record WHERE signal = 9').pluck().get(), 0);
    mended.close();
  });
});

import assert from 'node:assert/strict';
import fs, { rmSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { storeError } from '../../../../src/accounting/sqlite/database/faults';
import { openForWriting } from '../../../../src/accounting/sqlite/database/open';
import { SqliteDatabase, UnusableSqlite } from '../../../../src/native/sqlite';
import { StoreError } from '../../../../src/accounting/store-error';
import { temporaryStore } from '../../temporary-store';

describe('storeError', () => {
  it('names cause and fix for an SQLite library that can not be loaded', () => {
    const error = storeError('/data/accounting.db', new UnusableSqlite('it is damaged', 'install it again'));
    assert.ok(error instanceof StoreError && error.retry);
    assert.equal(error.message, '/data/accounting.db: it is damaged; install it again');
  });

  it('is damage for a duplicate key, since each key was looked up before', () => {
    const db = new SqliteDatabase(':memory:');
    db.exec('CREATE TABLE rollup (day INTEGER PRIMARY KEY); INSERT INTO rollup VALUES (1)');
    assert.throws(
      () => db.exec('INSERT INTO rollup VALUES (1)'),
      (error) => String(storeError('/data/accounting.db', error)).includes('it is damaged'),
    );
  });

  it('says that the file was removed or replaced under a writer', () => {
    const path = temporaryStore();
    const db = openForWriting(path, 0o600);
    const write = (): unknown => db.pragma('user_version = 1');
    rmSync(path);
    const isReplaced = (error: unknown): boolean =>
      String(storeError(path, error)).includes('its file was replaced or removed');
    assert.throws(write, isReplaced);
    writeFileSync(path, '');
    assert.throws(write, isReplaced);
    db.close();
  });

  it('blames no permissions where the file system was made read-only', (t) => {
    const path = temporaryStore();
    const db = openForWriting(path, 0o600);
    db.pragma('query_only = 1');
    t.mock.method(fs, 'accessSync', (_path: string, mode: number) => {
      if (mode === fs.constants.W_OK) throw Object.assign(new Error('EROFS'), { code: 'EROFS' });
    });
    const says = /: the file system of \S+ is read-only; mount it for writing/;
    assert.throws(
      () => db.pragma('user_version = 1'),
      (error) => says.test(String(storeError(path, error))),
    );
    db.close();
  });

  it('is the error itself if the store has no fault', () => {
    const error = new RangeError('a bug');
    assert.equal(storeError('/data/accounting.db', error), error);
  });
});

import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { storeError } from '../../../../src/accounting/sqlite/database/faults';
import { openForWriting } from '../../../../src/accounting/sqlite/database/open';
import { SqliteDatabase, UnusableSqlite } from '../../../../src/native/sqlite';
import { StoreError } from '../../../../src/accounting/store-error';
import { temporaryStore } from '../../temporary-store';

describe('storeError', () => {
  it('has what is wrong with an SQLite that can not be loaded, and what helps', () => {
    const told = storeError('/data/accounting.db', new UnusableSqlite('it is damaged', 'install it again'));
    assert.ok(told instanceof StoreError && told.retry);
    assert.equal(told.message, '/data/accounting.db: it is damaged; install it again');
  });

  it('takes a key that is there twice for damage: each was looked for before', () => {
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
    const told = (error: unknown): boolean =>
      String(storeError(path, error)).includes('its file was replaced or removed');
    assert.throws(write, told);
    writeFileSync(path, '');
    assert.throws(write, told);
    db.close();
  });

  it('leaves what is no fault of the store as it is', () => {
    const error = new RangeError('a bug');
    assert.equal(storeError('/data/accounting.db', error), error);
  });
});

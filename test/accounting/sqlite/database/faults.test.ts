import assert from 'node:assert/strict';
import { rmSync, writeFileSync } from 'node:fs';
import { describe, it } from 'node:test';
import { storeError } from '../../../../src/accounting/sqlite/database/faults';
import { openForWriting } from '../../../../src/accounting/sqlite/database/open';
import { SqliteDatabase } from '../../../../src/native/sqlite';
import { StoreError } from '../../../../src/accounting/store-error';
import { temporaryStore } from '../../temporary-store';

describe('storeError', () => {
  it('says in one line that the compiled part was built for another Node', () => {
    const error = Object.assign(
      new Error(
        [
          "The module '/opt/x/better_sqlite3.node'",
          'was compiled against a different Node.js version using',
          'NODE_MODULE_VERSION 115. This version of Node.js requires',
          'NODE_MODULE_VERSION 127. Please try re-compiling or re-installing',
        ].join('\n'),
      ),
      { code: 'ERR_DLOPEN_FAILED' },
    );
    const told = storeError('/data/accounting.db', error);
    assert.ok(told instanceof StoreError);
    assert.doesNotMatch(told.message, /\n/);
    assert.match(told.message, /built for another Node than this v\d/);
    assert.match(told.message, /npm rebuild better-sqlite3/);
  });

  it('tells why else it could not be loaded', () => {
    const error = Object.assign(new Error('libstdc++.so.6: cannot open shared object file\nmore'), {
      code: 'ERR_DLOPEN_FAILED',
    });
    assert.match(
      String(storeError('/data/accounting.db', error)),
      /libstdc\+\+\.so\.6: cannot open shared object file/,
    );
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

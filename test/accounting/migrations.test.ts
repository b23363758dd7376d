import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { SqliteDatabase } from '../../src/native/sqlite';
import type { Database } from 'better-sqlite3';
import { listMigrations, migrate, requireNewestSchema, schemaVersion } from '../../src/accounting/migrations';
import { temporaryDirectory } from '../support/temporary-directory';

function directoryOf(files: Readonly<Record<string, string>>): string {
  const directory = temporaryDirectory();
  for (const [name, sql] of Object.entries(files)) writeFileSync(join(directory, name), sql);
  return directory;
}

function memory(t: TestContext): Database {
  const db = new SqliteDatabase(':memory:');
  t.after(() => db.close());
  return db;
}

const TWO = { '001-a.sql': 'CREATE TABLE a (x);', '002-b.sql': 'CREATE TABLE b (y); INSERT INTO b VALUES (1);' };

describe('listMigrations', () => {
  it("lists qmemacct's own migrations", () => {
    assert.equal(listMigrations()[0]?.version, 1);
  });

  it('refuses a missing number, a number given twice and an empty directory', () => {
    for (const files of [{ '002-b.sql': '' }, { '001-a.sql': '', '001-b.sql': '' }, {}])
      assert.throws(() => listMigrations(directoryOf(files)), /are not 001, 002/);
  });
});

describe('migrate', () => {
  it('applies each missing migration once', (t) => {
    const db = memory(t);
    migrate(db, listMigrations(directoryOf({ '001-a.sql': TWO['001-a.sql'] })));
    assert.equal(schemaVersion(db), 1);
    const both = listMigrations(directoryOf(TWO));
    migrate(db, both);
    migrate(db, both);
    assert.equal(schemaVersion(db), 2);
    assert.equal(db.prepare('SELECT count(*) FROM b').pluck().get(), 1);
  });

  it('applies no migration if one fails', (t) => {
    const db = memory(t);
    const bad = listMigrations(directoryOf({ ...TWO, '003-c.sql': 'CREATE TABLE c (z); NONSENSE;' }));
    assert.throws(() => migrate(db, bad), /syntax error/);
    assert.equal(schemaVersion(db), 0);
    assert.deepEqual(db.prepare('SELECT name FROM sqlite_schema').all(), []);
  });

  it('refuses a newer schema', (t) => {
    const db = memory(t);
    db.pragma('user_version = 3');
    const two = listMigrations(directoryOf(TWO));
    assert.throws(
      () => migrate(db, two),
      /it has schema 3, this qmemacct knows up to 2; upgrade qmemacct on this host/,
    );
    assert.throws(() => requireNewestSchema(db, two), /knows up to 2/);
  });

  it('refuses an older schema for a reader', (t) => {
    const db = memory(t);
    assert.throws(
      () => requireNewestSchema(db, listMigrations(directoryOf(TWO))),
      /it has schema 0, this qmemacct needs 2; the next delivery/,
    );
  });
});

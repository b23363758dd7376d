import assert from 'node:assert/strict';
import { execFile, execFileSync } from 'node:child_process';
import { chmodSync, chownSync, readFileSync, statSync, symlinkSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { promisify } from 'node:util';
import { listMigrations, schemaVersion } from '../../../src/accounting/migrations';
import { openReader } from '../../../src/accounting/open-store';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { upgrade } from '../../../src/accounting/sqlite/upgrade';
import { SqliteDatabase } from '../../../src/native/sqlite';
import type { JobRecord } from '../../../src/sampler/record';
import { realisticRecords } from '../realistic-record';
import { temporaryStore } from '../temporary-store';
import { makeOlder } from './older-store';

const OPEN_STORE = join(__dirname, '../../../src/accounting/open-store.js');
const NOBODY = 65_534;
const asRoot = { skip: process.geteuid?.() !== 0 && 'not root' };

/** A store of an earlier qmemacct with one record. */
async function olderStore(t: TestContext): Promise<{ readonly path: string; readonly record: JobRecord }> {
  const path = temporaryStore(t);
  const record = realisticRecords().next();
  const store = openSqliteStore(path, 0o640);
  await store.merge([record]);
  await store.close();
  makeOlder(path);
  assert.throws(() => openSqliteReader(path), /it has schema 3, this qmemacct needs 4/);
  return { path, record };
}

function versionOf(path: string): number {
  const db = new SqliteDatabase(path, { readonly: true });
  try {
    return schemaVersion(db);
  } finally {
    db.close();
  }
}

async function assertAnswers(path: string, { job_id, cluster }: JobRecord): Promise<void> {
  const reader = await openReader(path);
  const { records } = await reader.job({ job_id, cluster });
  await reader.close();
  assert.equal(records.length, 1);
}

function giveTo(uid: number, path: string): void {
  chownSync(path, uid, uid);
  chownSync(dirname(path), uid, uid);
}

/** What another user sees who opens the store to read it. */
function openedAs(uid: number, path: string): string {
  const script = `require(process.argv[1]).openReader(process.argv[2])
    .then((reader) => reader.close()).then(() => console.log('read'), (error) => console.log(error.message))`;
  return execFileSync(process.execPath, ['-e', script, OPEN_STORE, path], {
    uid,
    gid: uid,
    cwd: '/',
    encoding: 'utf8',
  });
}

describe('upgrade', () => {
  it("makes the caller's own store of an earlier qmemacct answer, with its permissions as they were", async (t) => {
    const { path, record } = await olderStore(t);
    chmodSync(path, 0o600);
    await assertAnswers(path, record);
    assert.equal(versionOf(path), listMigrations().length);
    assert.equal(statSync(path).mode & 0o777, 0o600);
  });

  it('follows a link to it', async (t) => {
    const { path, record } = await olderStore(t);
    symlinkSync(path, `${path}.link`);
    await assertAnswers(`${path}.link`, record);
  });

  it('of many readers at once, each gets its answer', async (t) => {
    const { path } = await olderStore(t);
    const script = `require(process.argv[1]).openReader(process.argv[2]).then((reader) => reader.close())`;
    await Promise.all(
      Array.from({ length: 4 }, () => promisify(execFile)(process.execPath, ['-e', script, OPEN_STORE, path])),
    );
    assert.equal(versionOf(path), listMigrations().length);
  });

  it('leaves a store that the caller may only read, and says what is wrong with it', asRoot, async (t) => {
    const { path } = await olderStore(t);
    chmodSync(dirname(path), 0o755);
    chmodSync(path, 0o644);
    const before = readFileSync(path);
    assert.match(
      openedAs(NOBODY, path),
      /it has schema 3, this qmemacct needs 4; the next delivery of a job upgrades it/,
    );
    giveTo(NOBODY, path);
    chmodSync(path, 0o444);
    assert.match(openedAs(NOBODY, path), /it has schema 3/);
    chmodSync(path, 0o644);
    chmodSync(dirname(path), 0o555);
    assert.match(openedAs(NOBODY, path), /it has schema 3/);
    assert.ok(readFileSync(path).equals(before));
  });

  it('as root, upgrades the store of the user who delivers, as that user', asRoot, async (t) => {
    const { path, record } = await olderStore(t);
    giveTo(NOBODY, path);
    chmodSync(dirname(path), 0o775);
    await assertAnswers(path, record);
    assert.equal(statSync(path).uid, NOBODY);
  });

  it('as root, tells why it failed', asRoot, async (t) => {
    const { path } = await olderStore(t);
    giveTo(NOBODY, path);
    chmodSync(dirname(path), 0o1777);
    assert.throws(() => upgrade(path), /its upgrade to this qmemacct's schema failed: .*everyone may write to/);
    assert.equal(versionOf(path), 3);
  });
});

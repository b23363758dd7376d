import assert from 'node:assert/strict';
import {
  chownSync,
  closeSync,
  existsSync,
  mkdirSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
  writeSync,
} from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { backUp } from '../../../src/accounting/sqlite/backup';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { SqliteDatabase, SqliteError } from '../../../src/native/sqlite';
import { NOBODY, notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { cannotRun, lineOf, sharedStore, startDeliverer, UNPRIVILEGED } from '../run-deliverer';
import { job, T0 } from '../suite/fixture';
import { temporaryStore } from '../temporary-store';

async function filled(records: number): Promise<string> {
  const path = temporaryStore();
  const store = openSqliteHistory(path, 0o640);
  await store.merge(Array.from({ length: records }, (_, index) => job(1 + index, T0)));
  await store.close();
  return path;
}

/** The jobs in a copy, which must be sound. */
function jobsIn(copy: string): readonly number[] {
  const db = new SqliteDatabase(copy, { readonly: true });
  try {
    assert.equal(db.pragma('integrity_check', { simple: true }), 'ok');
    return db.prepare<[], number>('SELECT job_id FROM record ORDER BY job_id').pluck().all();
  } finally {
    db.close();
  }
}

const upTo = (count: number): readonly number[] => Array.from({ length: count }, (_, index) => 1 + index);

describe('a backup of an SQLite store', () => {
  it('has what was committed before it, while nodes deliver more', { skip: cannotRun() }, async () => {
    const path = sharedStore();
    const { process: child, finished } = startDeliverer(['--accounting', path, '--mode', '0640']);
    let copies = 0;
    let last = 0;
    for (let id = 1; id <= 120; id++) {
      child.stdin.write(lineOf(id, job(id, T0)));
      // Every batch is as much as the deliverer reads at once: let it commit some.
      if (id % 30 > 0) continue;
      await new Promise((resolve) => child.stdout.once('data', resolve));
      const copy = join(temporaryDirectory(), 'copy.db');
      assert.equal(await backUp(path, copy, {}), statSync(copy).size);
      const jobs = jobsIn(copy);
      assert.ok(jobs.length >= last);
      assert.deepEqual(jobs, upTo(jobs.length));
      [last, copies] = [jobs.length, copies + 1];
    }
    child.stdin.end();
    const { status, rows } = await finished;
    assert.deepEqual([status, rows.length, rows.every(({ ok }) => ok), copies], [0, 120, true, 4]);
    assert.deepEqual(jobsIn(path), upTo(120));
  });

  it('lets nobody commit before it is whole, then everybody', async () => {
    const path = await filled(10);
    const writer = new SqliteDatabase(path, { timeout: 0 });
    const commit = (): unknown => writer.exec('BEGIN IMMEDIATE; DELETE FROM record WHERE job_id = 10; COMMIT');
    let refused = 0;
    const onProgress = (): void => {
      assert.throws(commit, (error) => error instanceof SqliteError && error.code === 'SQLITE_BUSY');
      writer.exec('ROLLBACK');
      refused++;
    };
    await backUp(path, `${path}.copy`, { onProgress });
    assert.ok(refused > 0);
    commit();
    writer.close();
    assert.deepEqual([jobsIn(path).length, jobsIn(`${path}.copy`).length], [9, 10]);
  });

  it('is refused of a store in WAL mode, of which the file is not all', async () => {
    const path = await filled(1);
    const db = new SqliteDatabase(path);
    db.pragma('journal_mode = WAL');
    db.close();
    await assert.rejects(backUp(path, `${path}.copy`, {}), /it is in WAL mode.*journal_mode=DELETE/);
    assert.equal(existsSync(`${path}.copy`), false);
  });

  it('is refused of a damaged store, and leaves an earlier one', async () => {
    const path = await filled(300);
    const copy = `${path}.copy`;
    await backUp(path, copy, {});
    const file = openSync(path, 'r+');
    writeSync(file, Buffer.alloc(4096 * 40, 'x'), 0, 4096 * 40, 4096 * 20);
    closeSync(file);
    const names = readdirSync(dirname(path));
    await assert.rejects(backUp(path, copy, {}), /accounting.db: it is damaged.*no copy is kept.*restore it/);
    assert.deepEqual(readdirSync(dirname(path)), names);
    assert.deepEqual(jobsIn(copy), upTo(300));
  });

  it('has the mode and owner of the store, and replaces an earlier one', { skip: notRoot || cannotRun() }, async () => {
    const path = sharedStore();
    const { process: child, finished } = startDeliverer(['--accounting', path, '--mode', '0640']);
    child.stdin.end(lineOf(1, job(1, T0)));
    await finished;
    const copy = join(temporaryDirectory(), 'copy.db');
    writeFileSync(copy, 'an earlier one');
    await backUp(path, copy, {});
    const { mode, uid, gid } = statSync(copy);
    assert.deepEqual([mode & 0o777, uid, gid], [0o640, UNPRIVILEGED.uid, UNPRIVILEGED.gid]);
    assert.deepEqual(jobsIn(copy), [1]);
  });

  it('is sound in a directory that replaces that of a lost store, even while a node delivers into the lost one', async () => {
    const path = await filled(300);
    const directory = dirname(path);
    await backUp(path, `${directory}.new.db`, {});
    const delivering = new SqliteDatabase(path);
    delivering.pragma('cache_size = 5');
    delivering.exec('BEGIN IMMEDIATE; UPDATE record SET job_id = job_id + 1000');
    assert.ok(existsSync(`${path}-journal`));
    mkdirSync(`${directory}.new`);
    renameSync(`${directory}.new.db`, join(`${directory}.new`, basename(path)));
    renameSync(directory, join(temporaryDirectory(), 'lost'));
    renameSync(`${directory}.new`, directory);
    assert.deepEqual(jobsIn(path), upTo(300));
    assert.throws(() => delivering.exec('COMMIT'), SqliteError);
    delivering.close();
    assert.deepEqual(jobsIn(path), upTo(300));
  });

  it(
    'changes no other file for a user who puts a link to it in the place of the unfinished copy',
    { skip: notRoot },
    async () => {
      const path = await filled(1);
      const other = join(temporaryDirectory(), 'other');
      writeFileSync(other, 'mine', { mode: 0o600 });
      chownSync(path, NOBODY, NOBODY);
      const place = temporaryDirectory();
      const onProgress = (): void => {
        const [unfinished = ''] = readdirSync(place);
        renameSync(join(place, unfinished), join(place, 'away'));
        symlinkSync(other, join(place, unfinished));
      };
      await assert.rejects(backUp(path, join(place, 'copy.db'), { onProgress }), /it was replaced/);
      const { uid, mode } = statSync(other);
      assert.deepEqual([readFileSync(other, 'utf8'), uid, mode & 0o777], ['mine', 0, 0o600]);
      assert.equal(statSync(join(place, 'away')).uid, NOBODY);
    },
  );

  it('removes what killed ones have left, not what another is writing', async () => {
    const directory = temporaryDirectory();
    const names = [`.copy.db.${process.pid}.new`, '.copy.db.1.new', '.copy.db.2.new', '.other.db.1.new'];
    const [, , fresh = ''] = names;
    for (const name of names) {
      writeFileSync(join(directory, name), '');
      if (name !== fresh) utimesSync(join(directory, name), 1000, 1000);
    }
    await backUp(await filled(1), join(directory, 'copy.db'), {});
    assert.deepEqual(readdirSync(directory).sort(), [fresh, '.other.db.1.new', 'copy.db']);
  });

  it('leaves nothing when it is interrupted or can not be written, and never replaces the store', async () => {
    const path = await filled(1);
    const directory = dirname(path);
    const before = readdirSync(directory);
    assert.equal(await backUp(path, `${path}.copy`, { signal: AbortSignal.abort() }), null);
    assert.deepEqual(readdirSync(directory), before);
    await assert.rejects(backUp(path, path, {}), /it is the accounting DB itself; name another file/);
    await assert.rejects(backUp(path, join(directory, 'none', 'copy.db'), {}), /the copy can't be made: ENOENT/);
    mkdirSync(join(directory, 'place'));
    symlinkSync(path, join(directory, 'link'));
    for (const name of ['place', 'link'])
      await assert.rejects(backUp(path, join(directory, name), {}), /it is not a regular file/);
    await assert.rejects(backUp(`${path}.none`, `${path}.copy`, {}), /accounting.db.none: it does not exist/);
    assert.deepEqual(jobsIn(path), [1]);
  });
});

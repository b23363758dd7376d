import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SqliteDatabase as Database } from '../../../src/native/sqlite';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { StoredSample } from '../../../src/sampler/node-store/sample-table';
import { unpackVarints } from '../../../src/sampler/series/varints';
import { packageRoot } from '../../../src/base/package-root';
import type { JobRecord } from '../../../src/record/record';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf, sampleOf } from '../../support/records';

const MIB = 2 ** 20;
const RUN = '1516.0.0badcafe.1.2';

const record = (job: number, changes: Partial<JobRecord> = {}): JobRecord =>
  recordOf({ job_id: job, status: 'running', revision: 1000, ...changes });

const LARGEST = [{ pid: 7, start: 8, command: 'sh', rss: 60, cpu: 5 }];
const sample = (at: number, changes: Partial<StoredSample> = {}): StoredSample =>
  sampleOf(at, {
    rss: 100,
    vmem: 200,
    anonymous: 90,
    cpu: 10,
    processes: 2,
    threads: 2,
    largest: LARGEST,
    othersRss: 40,
    othersCpu: 5,
    ...changes,
  });

function opened(t: TestContext, directory = temporaryDirectory()): NodeStore & { readonly directory: string } {
  const store = new NodeStore(directory);
  t.after(() => {
    store.close();
  });
  return Object.assign(store, { directory });
}

/** Rows of node.db past the store. */
function rows(directory: string, sql: string): readonly Record<string, unknown>[] {
  const database = new Database(join(directory, 'node.db'), { readonly: true });
  try {
    return database.prepare<[], Record<string, unknown>>(sql).all();
  } finally {
    database.close();
  }
}

const count = (directory: string, table: string): number =>
  Number(rows(directory, `SELECT count(*) AS n FROM ${table}`)[0]?.n);

describe('node.db', () => {
  it('is made on first use, for root alone', (t) => {
    const directory = temporaryDirectory();
    assert.equal(existsSync(join(directory, 'node.db')), false);
    const umask = process.umask(0);
    const store = opened(t, directory);
    assert.equal(process.umask(umask), 0);
    store.finish(RUN, 500, record(1516), [sample(0)]);
    assert.equal(existsSync(join(directory, 'node.db')), true);
    for (const name of readdirSync(directory)) assert.equal(statSync(join(directory, name)).mode & 0o777, 0o600, name);
    assert.deepEqual(rows(directory, 'PRAGMA journal_mode'), [{ journal_mode: 'wal' }]);
  });

  it('says what stands in its way', () => {
    const directory = temporaryDirectory();
    assert.throws(() => new NodeStore(join(directory, 'missing')));
    writeFileSync(join(directory, 'node.db'), 'this is no database, but long enough to look at'.repeat(50));
    assert.throws(() => new NodeStore(directory), /not a database/);
  });

  it('comes to its schema by numbered files, and stays there', (t) => {
    const { directory } = opened(t);
    const files = readdirSync(join(packageRoot(), 'sql', 'node')).filter((name) => name.endsWith('.sql'));
    assert.deepEqual(rows(directory, 'PRAGMA user_version'), [{ user_version: files.length }]);
    const schema = rows(directory, 'SELECT name, sql FROM sqlite_schema ORDER BY name');
    new NodeStore(directory).close();
    assert.deepEqual(rows(directory, 'SELECT name, sql FROM sqlite_schema ORDER BY name'), schema);
  });

  it('of a newer version is left alone', (t) => {
    const { directory } = opened(t);
    const database = new Database(join(directory, 'node.db'));
    database.pragma('user_version = 99');
    database.close();
    assert.throws(() => new NodeStore(directory), /schema 99 is newer .* install the newer qmemacct/);
    assert.deepEqual(rows(directory, 'PRAGMA user_version'), [{ user_version: 99 }]);
  });
});

/** The largest processes of all samples: id, rss (KiB), CPU (ms). */
function largestOf(directory: string): number[][] {
  return rows(directory, 'SELECT largest FROM sample ORDER BY at').flatMap(({ largest }) => {
    const values = unpackVarints(largest as Buffer);
    return Array.from({ length: values.length / 3 }, (_, index) => values.slice(index * 3, index * 3 + 3));
  });
}

describe('a job in node.db', () => {
  it('is saved as it goes on', (t) => {
    const store = opened(t);
    assert.equal(store.job(RUN), null);
    store.saveProgress(RUN, 500, record(1516), [sample(0), sample(100)]);
    store.saveProgress(RUN, 500, record(1516, { samples: 3, revision: 2000 }), [sample(200)]);
    assert.deepEqual(store.job(RUN), {
      run: RUN,
      finished: false,
      record: JSON.stringify(record(1516, { samples: 3, revision: 2000 })),
    });
    assert.deepEqual(
      store.running().map(({ run }) => run),
      [RUN],
    );
    assert.deepEqual(rows(store.directory, 'SELECT started, changed, finished FROM job'), [
      { started: 500, changed: 2000, finished: 0 },
    ]);
    assert.equal(count(store.directory, 'sample'), 3);
    assert.equal(count(store.directory, 'process'), 1);
    assert.equal(largestOf(store.directory).length, 6);
    assert.equal(count(store.directory, 'outbox'), 0);
  });

  it('takes the same sample twice for one', (t) => {
    const store = opened(t);
    store.saveProgress(RUN, 500, record(1516), [sample(0)]);
    store.saveProgress(RUN, 500, record(1516), [sample(0, { rss: 111 })]);
    assert.deepEqual(rows(store.directory, 'SELECT at, rss FROM sample'), [{ at: 0, rss: 111 }]);
  });

  it('keeps apart processes with one name, and programs of one process', (t) => {
    const store = opened(t);
    const largest = [
      { pid: 7, start: 8, command: 'sh', rss: 60, cpu: 5 },
      { pid: 7, start: 9, command: 'sh', rss: 50, cpu: 5 },
      { pid: 7, start: 8, command: 'solver', rss: 40, cpu: 5 },
    ];
    store.saveProgress(RUN, 500, record(1516), [sample(0, { largest, othersRss: 0 })]);
    assert.equal(count(store.directory, 'process'), 3);
    assert.deepEqual(largestOf(store.directory), [
      [1, 60, 5],
      [2, 50, 5],
      [3, 40, 5],
    ]);
  });

  it('is finished once: one row for the accounting DB, however often', (t) => {
    const store = opened(t);
    store.saveProgress(RUN, 500, record(1516), [sample(0)]);
    const done = record(1516, { status: 'finished', revision: 3000 });
    store.finish(RUN, 500, done, [sample(100)]);
    store.finish(RUN, 500, done, [sample(100)]);
    assert.deepEqual(store.outbox(10), [{ id: 1, record: JSON.stringify(done) }]);
    assert.equal(store.job(RUN)?.finished, true);
    assert.deepEqual(store.running(), []);
    assert.equal(count(store.directory, 'sample'), 2);
    store.delivered([1]);
    store.finish(RUN, 500, done, []);
    assert.deepEqual(store.outbox(10), []);
  });

  it('stays finished when late progress comes', (t) => {
    const store = opened(t);
    store.finish(RUN, 500, record(1516, { status: 'finished' }), []);
    store.saveProgress(RUN, 500, record(1516), []);
    assert.equal(store.job(RUN)?.finished, true);
  });

  it('is saved whole or not at all', (t) => {
    const store = opened(t);
    const broken = { ...sample(100), rss: 'much' as unknown as number };
    assert.throws(() => {
      store.finish(RUN, 500, record(1516), [sample(0), broken]);
    });
    assert.equal(store.job(RUN), null);
    assert.deepEqual(store.outbox(10), []);
    assert.equal(count(store.directory, 'sample'), 0);
    store.finish(RUN, 500, record(1516), [sample(0)]);
    assert.equal(largestOf(store.directory).length, 2);
    assert.equal(count(store.directory, 'process'), 1);
  });
});

describe('the outbox', () => {
  it('gives the oldest first, and only what can be delivered', (t) => {
    const store = opened(t);
    for (let job = 1; job <= 5; job++) store.finish(`${job}.0.0badcafe.1.2`, 0, record(job), []);
    assert.deepEqual(
      store.outbox(3).map(({ id }) => id),
      [1, 2, 3],
    );
    store.refuse(2, 'is no record');
    store.delivered([1, 99]);
    assert.deepEqual(
      store.outbox(10).map(({ id }) => id),
      [3, 4, 5],
    );
    assert.deepEqual(rows(store.directory, 'SELECT id, refused FROM outbox WHERE refused IS NOT NULL'), [
      { id: 2, refused: 'is no record' },
    ]);
  });

  it('gives no number twice', (t) => {
    const store = opened(t);
    store.finish('1.0.0badcafe.1.2', 0, record(1), []);
    store.delivered([1]);
    store.finish('2.0.0badcafe.1.2', 0, record(2), []);
    assert.deepEqual(
      store.outbox(10).map(({ id }) => id),
      [2],
    );
  });
});

describe('pruning', () => {
  const many = Array.from({ length: 400 }, (_, at) => sample(at));

  it('drops finished jobs by age, with their samples, and neither running jobs nor the outbox', (t) => {
    const store = opened(t);
    store.finish('1.0.0badcafe.1.2', 0, record(1, { revision: 1000 }), many);
    store.finish('2.0.0badcafe.1.2', 0, record(2, { revision: 9000 }), many);
    store.saveProgress('3.0.0badcafe.1.2', 0, record(3, { revision: 1000 }), many);
    store.prune(5000, 100 * MIB);
    assert.deepEqual(
      rows(store.directory, 'SELECT run FROM job ORDER BY run').map(({ run }) => run),
      ['2.0.0badcafe.1.2', '3.0.0badcafe.1.2'],
    );
    for (const table of ['sample', 'process'])
      assert.equal(count(store.directory, `${table} WHERE job NOT IN (SELECT id FROM job)`), 0, table);
    assert.equal(store.outbox(10).length, 2);
    // A process that it had seen before is saved anew.
    store.saveProgress('3.0.0badcafe.1.2', 0, record(3), [sample(9999)]);
  });

  it('drops the oldest finished jobs while the file is too large', (t) => {
    const store = opened(t);
    for (let job = 1; job <= 60; job++) store.finish(`${job}.0.0badcafe.1.2`, 0, record(job, { revision: job }), many);
    const before = count(store.directory, 'job');
    store.prune(0, 1.2 * MIB);
    const left = rows(store.directory, 'SELECT changed FROM job ORDER BY changed').map(({ changed }) =>
      Number(changed),
    );
    assert.ok(left.length > 0 && left.length < before, `${left.length} of ${before} jobs are left`);
    assert.equal(left.at(-1), 60);
    assert.equal(store.outbox(100).length, 60);
    store.prune(0, 1);
    assert.equal(count(store.directory, 'job'), 0);
  });
});

describe('many samplers', () => {
  it('write at once, from the first moment on, and lose nothing', async () => {
    const directory = temporaryDirectory();
    const script = `
      const { NodeStore } = require(process.argv[1]);
      const [, , directory, first] = process.argv;
      const record = (job) => ({ job_id: job, revision: job });
      const sample = { vmem: 1, swap: 0, anonymous: 1, cpu: 1, processes: 1, threads: 1, read: 0, written: 0,
        largest: [{ pid: 1, start: 1, command: 'sh', rss: 1, cpu: 1 }], othersRss: 0, othersCpu: 0 };
      for (let job = Number(first); job < Number(first) + 10; job++) {
        const store = new NodeStore(directory, 120_000);
        for (let at = 0; at < 20; at++) store.saveProgress('run ' + job, 0, record(job), [{ ...sample, at, rss: job }]);
        store.finish('run ' + job, 0, record(job), [{ ...sample, at: 20, rss: job }]);
        store.close();
      }`;
    const writers = [0, 100, 200, 300].map((first) =>
      spawn(
        process.execPath,
        ['-e', script, require.resolve('../../../src/sampler/node-store/node-store'), directory, String(first)],
        {
          stdio: 'inherit',
        },
      ),
    );
    for (const [status] of await Promise.all(writers.map((writer) => once(writer, 'exit')))) assert.equal(status, 0);
    assert.equal(count(directory, 'job'), 40);
    assert.equal(count(directory, 'sample'), 40 * 21);
    assert.equal(count(directory, 'outbox'), 40);
    assert.equal(count(directory, 'sample JOIN job ON job.id = sample.job WHERE sample.rss <> job.changed'), 0);
    assert.deepEqual(rows(directory, 'PRAGMA integrity_check'), [{ integrity_check: 'ok' }]);
  });

  it('open a new store at the same moment', async (t) => {
    const script = `
      const { NodeStore } = require(process.argv[1]);
      process.on('message', (directory) => {
        new NodeStore(directory, 120_000).close();
        process.send('opened');
      });`;
    const store = require.resolve('../../../src/sampler/node-store/node-store');
    const openers = Array.from({ length: 5 }, () =>
      spawn(process.execPath, ['-e', script, store], { stdio: ['ignore', 'inherit', 'inherit', 'ipc'] }),
    );
    t.after(() => {
      for (const opener of openers) opener.kill('SIGKILL');
    });
    for (let round = 0; round < 20; round++) {
      const directory = temporaryDirectory();
      const ended = openers.map(async (opener) => {
        const [answer] = (await Promise.race([once(opener, 'message'), once(opener, 'exit')])) as unknown[];
        assert.equal(answer, 'opened');
      });
      for (const opener of openers) opener.send(directory);
      await Promise.all(ended);
    }
  });

  it('survive one that dies in the middle of writing', (t) => {
    const store = opened(t);
    store.saveProgress(RUN, 500, record(1516), [sample(0)]);
    const copy = temporaryDirectory();
    // As after a crash: the log with its last changes, and no one who had closed it.
    for (const name of ['node.db', 'node.db-wal']) copyFileSync(join(store.directory, name), join(copy, name));
    const again = opened(t, copy);
    assert.equal(again.job(RUN)?.finished, false);
    assert.equal(count(copy, 'sample'), 1);
  });
});

import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { copyFileSync, existsSync, readdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { SqliteDatabase as Database } from '../../../src/native/sqlite';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { StoredSample } from '../../../src/sampler/node-store/sample-table';
import type { SeriesBatch } from '../../../src/sampler/series/series-buffer';
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

  it('can’t be opened where the directory is missing or the file is no database', () => {
    const directory = temporaryDirectory();
    assert.throws(() => new NodeStore(join(directory, 'missing')));
    writeFileSync(join(directory, 'node.db'), 'this is no database, but long enough to look at'.repeat(50));
    assert.throws(() => new NodeStore(directory), /not a database/);
  });

  it('gets its schema from numbered files, once', (t) => {
    const { directory } = opened(t);
    const files = readdirSync(join(packageRoot(), 'sql', 'node')).filter((name) => name.endsWith('.sql'));
    assert.deepEqual(rows(directory, 'PRAGMA user_version'), [{ user_version: files.length }]);
    const schema = rows(directory, 'SELECT name, sql FROM sqlite_schema ORDER BY name');
    new NodeStore(directory).close();
    assert.deepEqual(rows(directory, 'SELECT name, sql FROM sqlite_schema ORDER BY name'), schema);
  });

  it('is left alone where its schema is newer', (t) => {
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
  it('is saved with its samples while it runs', (t) => {
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

  it('keeps the last one of two samples with the same time', (t) => {
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

  it('gets one row in the outbox, however often it is finished', (t) => {
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
  it('gives the oldest rows first, without the delivered and refused ones', (t) => {
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

  it('uses no id twice', (t) => {
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
  const HOUR = 3_600_000;
  const NOW = 500 * HOUR;
  const runOf = (job: number): string => `${job}.0.0badcafe.1.2`;
  /** Samples every 5 ms from a time (ms since the epoch) on, of a job that started at 0. */
  const from = (ms: number, pid = 7, samples = 400): readonly StoredSample[] =>
    Array.from({ length: samples }, (_, tick) =>
      sample(ms + tick * 5, { largest: [{ pid, start: 8, command: 'sh', rss: 60, cpu: 5 }] }),
    );
  const noise = (at: number): SeriesBatch => {
    const columns = Array.from({ length: 100 }, (_, index) => ({
      ...{ metric: 'noise_x', instance: String(index), resolution: 1, values: [at * 1000 + index ** 5] },
    }));
    return [{ source: 'noise', at: [at], columns }];
  };
  const numbers = (directory: string, sql: string): readonly number[] =>
    rows(directory, sql).map((row) => Number(Object.values(row)[0]));
  const jobsOf = (directory: string): readonly number[] =>
    numbers(directory, 'SELECT CAST(run AS INTEGER) FROM job ORDER BY id');
  const used = (directory: string): number => {
    const [pages = 0] = numbers(directory, 'PRAGMA page_count');
    const [free = 0] = numbers(directory, 'PRAGMA freelist_count');
    return (pages - free) * 4096;
  };

  it('drops old finished jobs as a whole, and the old samples of running jobs', (t) => {
    const store = opened(t);
    const ended = { status: 'finished' } as const;
    store.finish(runOf(1), 0, record(1, { ...ended, revision: 2 * HOUR }), from(HOUR));
    store.saveProgress(runOf(2), 0, record(2, { revision: 2 * HOUR }), from(HOUR), noise(HOUR));
    store.finish(runOf(3), 0, record(3, { ...ended, revision: 7 * HOUR }), [...from(HOUR), ...from(6 * HOUR)]);
    store.saveProgress(runOf(2), 0, record(2, { revision: 8 * HOUR }), from(7 * HOUR), noise(7 * HOUR));
    store.prune(5 * HOUR, 100 * MIB, Infinity);
    assert.deepEqual(jobsOf(store.directory), [2, 3]);
    for (const job of [2, 3]) assert.equal(count(store.directory, `sample WHERE job = ${job}`), 400);
    assert.deepEqual(numbers(store.directory, 'SELECT at FROM series'), [7 * HOUR]);
    assert.equal(store.job(runOf(2))?.record, JSON.stringify(record(2, { revision: 8 * HOUR })));
    assert.equal(store.outbox(10).length, 2);
    // Exact to one sample.
    store.prune(7 * HOUR + 1000, 100 * MIB, Infinity);
    assert.deepEqual(numbers(store.directory, 'SELECT min(at) FROM sample'), [7 * HOUR + 1000]);
    assert.deepEqual(jobsOf(store.directory), [2]);
  });

  it('keeps to the size where all jobs run: their oldest samples go, their records stay', (t) => {
    const store = opened(t);
    const records = [1, 2, 3].map((job) => record(job, { revision: NOW }));
    for (let hour = 0; hour < 50; hour++)
      for (const own of records) store.saveProgress(runOf(own.job_id), 0, own, from(hour * HOUR), noise(hour * HOUR));
    assert.ok(used(store.directory) > 2 * MIB);
    store.prune(0, MIB, Infinity);
    assert.ok(used(store.directory) <= MIB && used(store.directory) > 0.8 * MIB, `${used(store.directory)} bytes`);
    const [pages = 0] = numbers(store.directory, 'PRAGMA page_count');
    assert.ok(pages * 4096 <= MIB, `the file has ${pages} pages`);
    const left = numbers(store.directory, 'SELECT max(at) - min(at) FROM sample GROUP BY job');
    assert.equal(left.length, 3);
    for (const span of left) assert.ok(span > HOUR && Math.abs(span - Math.max(...left)) <= HOUR, `${left.join()} ms`);
    assert.deepEqual(numbers(store.directory, 'SELECT max(at) FROM sample'), [49 * HOUR + 1995]);
    assert.deepEqual(
      store.running().map(({ record: text }) => text),
      records.map((own) => JSON.stringify(own)),
    );
    store.prune(0, 1, Infinity);
    assert.equal(count(store.directory, 'sample'), 0);
    assert.equal(store.running().length, 3);
    // A process that it had seen before keeps its name.
    store.saveProgress(runOf(1), 0, record(1), [sample(NOW)]);
    assert.equal(count(store.directory, `process WHERE id = ${largestOf(store.directory)[0]?.[0]}`), 1);
  });

  it('drops the oldest data of running jobs, of finished jobs and of the host alike', (t) => {
    const store = opened(t);
    for (let hour = 0; hour < 40; hour++) {
      store.saveProgress(runOf(1), 0, record(1, { revision: hour * HOUR }), from(hour * HOUR));
      store.finish(runOf(100 + hour), 0, record(100 + hour, { revision: hour * HOUR + 3000 }), from(hour * HOUR));
      store.saveSeries(null, noise(hour * HOUR));
    }
    store.prune(0, MIB, Infinity);
    const oldest = numbers(
      store.directory,
      `SELECT min(at) FROM sample WHERE job = 1 UNION ALL SELECT min(at) FROM sample WHERE job > 1
       UNION ALL SELECT min(at) FROM series UNION ALL SELECT min(changed) FROM job WHERE finished = 1`,
    );
    assert.equal(oldest.length, 4);
    for (const at of oldest)
      assert.ok(
        at > 5 * HOUR && Math.abs(at - Math.max(...oldest)) <= 2 * HOUR,
        `the oldest are of ${oldest.join()} ms`,
      );
    assert.equal(jobsOf(store.directory).at(-1), 139);
    assert.equal(store.outbox(100).length, 40);
    store.prune(0, 1, Infinity);
    assert.deepEqual(jobsOf(store.directory), [1]);
    assert.equal(store.outbox(100).length, 40);
  });

  it('deletes at most 500 rows of a table in a step, and goes on with the next', (t) => {
    const store = opened(t);
    const all = ['sample', 'process', 'series'];
    const amounts = (): readonly number[] => all.map((table) => count(store.directory, table));
    for (let part = 0; part < 5; part++)
      store.saveProgress(runOf(1), 0, record(1), from(part * HOUR, part, 1000), noise(part * HOUR));
    for (let job = 2; job < 50; job++) store.finish(runOf(job), 0, record(job), from(HOUR, job, 10));
    const others = Array.from({ length: 1500 }, (_, pid) => ({ pid, start: 9, command: 'cc', rss: 1, cpu: 1 }));
    store.finish(runOf(50), 0, record(50, { revision: 2000 }), [sample(0, { largest: others })]);
    store.saveProgress(runOf(1), 0, record(1), from(NOW, 99));
    let before = amounts();
    let steps = 0;
    for (; count(store.directory, 'job') > 1 || before[0] !== 400; steps++) {
      store.prune(NOW, 100 * MIB, 0);
      const now = amounts();
      for (const [index, table] of all.entries()) {
        const gone = (before[index] ?? 0) - (now[index] ?? 0);
        assert.ok(gone >= 0 && gone <= 500, `${gone} rows of ${table} at once`);
      }
      before = now;
      assert.ok(steps < 100);
    }
    assert.ok(steps > 10);
  });

  it('goes on past the samples of a job whose start is in the future, by a clock that was ahead', (t) => {
    const store = opened(t);
    t.mock.timers.enable({ apis: ['Date'], now: NOW });
    store.saveProgress(runOf(1), NOW + 10_000 * HOUR, record(1), from(0, 1, 600));
    for (let hour = 0; hour < 40; hour++)
      store.saveProgress(runOf(2), 0, record(2), from(hour * HOUR), noise(hour * HOUR));
    store.prune(10 * HOUR, 100 * MIB, Infinity);
    assert.deepEqual(numbers(store.directory, 'SELECT min(at) FROM sample WHERE job = 2'), [10 * HOUR]);
    assert.deepEqual(numbers(store.directory, 'SELECT pid FROM process ORDER BY pid'), [1, 7]);
    // It was saved first, and where room is needed it goes first.
    store.prune(0, MIB / 2, Infinity);
    assert.ok(used(store.directory) <= MIB / 2 && used(store.directory) > 0.3 * MIB, `${used(store.directory)} bytes`);
    assert.equal(count(store.directory, 'sample WHERE job = 1'), 0);
    for (const table of ['sample', 'series']) assert.ok(count(store.directory, table) > 1, table);
    store.saveProgress(runOf(1), NOW + 10_000 * HOUR, record(1), from(HOUR));
    store.prune(0, 1, Infinity);
    assert.equal(count(store.directory, 'sample'), 0);
  });

  it('drops the names of processes that no sample has any more', (t) => {
    const store = opened(t);
    t.mock.timers.enable({ apis: ['Date'], now: NOW });
    const named = (): readonly number[] => numbers(store.directory, 'SELECT pid FROM process ORDER BY pid');
    const lasting = { pid: 1, start: 8, command: 'sh', rss: 60, cpu: 5 };
    for (let hour = 0; hour < 10; hour++) {
      t.mock.timers.setTime(NOW + hour * HOUR);
      const largest = [lasting, { ...lasting, pid: 100 + hour }];
      store.saveProgress(runOf(1), 0, record(1), [sample(NOW + hour * HOUR, { largest })]);
    }
    store.prune(NOW + 6 * HOUR, 100 * MIB, Infinity);
    assert.deepEqual(named(), [1, 105, 106, 107, 108, 109]);
    store.prune(NOW + 20 * HOUR, 100 * MIB, Infinity);
    assert.equal(count(store.directory, 'sample'), 0);
    // Until there are newer samples they may yet be used.
    assert.ok(named().includes(109));
    t.mock.timers.setTime(NOW + 30 * HOUR);
    store.saveProgress(runOf(1), 0, record(1), [sample(NOW + 30 * HOUR, { largest: [{ ...lasting, pid: 130 }] })]);
    store.prune(NOW, 100 * MIB, Infinity);
    assert.deepEqual(named(), [130]);
    store.saveProgress(runOf(1), 0, record(1), [sample(NOW + 30 * HOUR + 1, { largest: [lasting] })]);
    assert.deepEqual(named(), [1, 130]);
  });
});

describe('many samplers', () => {
  it('write at the same time, from the first moment on, and lose nothing', async () => {
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

  it('find the last changes of one that died without closing the store', (t) => {
    const store = opened(t);
    store.saveProgress(RUN, 500, record(1516), [sample(0)]);
    const copy = temporaryDirectory();
    // As after a crash: the log has the last changes, and the store was not closed.
    for (const name of ['node.db', 'node.db-wal']) copyFileSync(join(store.directory, name), join(copy, name));
    const again = opened(t, copy);
    assert.equal(again.job(RUN)?.finished, false);
    assert.equal(count(copy, 'sample'), 1);
  });
});

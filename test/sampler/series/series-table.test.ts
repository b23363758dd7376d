import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import type { Database } from 'better-sqlite3';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { openNodeReader, type NodeReader } from '../../../src/sampler/node-store/node-reader';
import { NodeStore } from '../../../src/sampler/node-store/node-store';
import type { StoredSample } from '../../../src/sampler/node-store/sample-table';
import type { JobRecord } from '../../../src/record/record';
import type { SeriesBatch } from '../../../src/sampler/series/series-buffer';
import { SeriesTable } from '../../../src/sampler/series/series-table';
import { seededRandom } from '../../accounting/realistic-record';
import { temporaryDirectory } from '../../support/temporary-directory';
import { recordOf } from '../../support/records';

const RUN = '1516.0.0badcafe.1.2';
const START = Date.UTC(2026, 10, 20);
const HOUR = 3_600_000;
const DAY = 24 * HOUR;

const record = (changes: Partial<JobRecord> = {}): JobRecord =>
  recordOf({ job_id: 1516, status: 'running', revision: START, ...changes });

interface Opened extends NodeStore {
  /** node.db, without the store. */
  readonly nodeDb: Database;
  readonly query: (sql: string) => readonly unknown[];
  readonly readSeries: NodeReader['readSeries'];
  readonly loads: NodeReader['loads'];
}

function opened(t: TestContext): Opened {
  const directory = temporaryDirectory();
  const store = new NodeStore(directory);
  const nodeDb = new SqliteDatabase(join(directory, 'node.db'));
  const { readSeries, loads, close } = openNodeReader(directory);
  t.after(() => {
    close();
    nodeDb.close();
    store.close();
  });
  const query = (sql: string): readonly unknown[] => nodeDb.prepare(sql).pluck().all();
  return Object.assign(store, { nodeDb, query, readSeries, loads });
}

/** One reading of one metric. */
const batch = (at: number, value: number, metric = 'loadavg_1min', instance = ''): SeriesBatch => [
  { source: 'loadavg', at: [at], columns: [{ metric, instance, resolution: 100, values: [value * 100] }] },
];

const aSample: StoredSample = {
  at: 1000,
  rss: 100,
  vmem: 200,
  swap: 3,
  anonymous: 90,
  cpu: 1500,
  processes: 2,
  threads: 5,
  read: 7,
  written: 8,
  largest: [],
  othersRss: 0,
  othersCpu: 0,
};

describe('series in node.db', () => {
  it('are read by metric and time, in their units', (t) => {
    const store = opened(t);
    for (let minute = 0; minute < 5; minute++) store.saveSeries(null, batch(START + minute * 60_000, minute / 4));
    store.saveSeries(null, batch(START, 7, 'loadavg_runnable'));
    const series = store.readSeries(null, ['loadavg_1min'], START + 60_000, START + 180_000);
    assert.deepEqual(series, [
      {
        metric: 'loadavg_1min',
        instance: '',
        at: [START + 60_000, START + 120_000, START + 180_000],
        values: [0.25, 0.5, 0.75],
      },
    ]);
    assert.equal(store.readSeries(null, [], 0, START + DAY).length, 2);
    assert.deepEqual(store.readSeries(null, ['loadavg_5min'], 0, START + DAY), []);
    assert.deepEqual(store.readSeries('9.0.0badcafe.1.2', [], 0, START + DAY), []);
  });

  it('of a job include its samples and are deleted with the job', (t) => {
    const store = opened(t);
    store.saveProgress(RUN, START, record(), [aSample], batch(START + 500, 1, 'cgroup_x', 'a b'));
    store.saveSeries(RUN, batch(START + 900, 2, 'cgroup_x', 'a b'));
    store.finish(
      RUN,
      START,
      record({ status: 'finished' }),
      [{ ...aSample, at: 2000 }],
      batch(START + 999, 3, 'cgroup_x', 'a b'),
    );
    const of = (name: string): readonly unknown[] => store.readSeries(RUN, [name], START, START + HOUR);
    assert.deepEqual(of('cgroup_x'), [
      { metric: 'cgroup_x', instance: 'a b', at: [START + 500, START + 900, START + 999], values: [1, 2, 3] },
    ]);
    const at = [START + 1000, START + 2000];
    assert.deepEqual(of('process_rss_bytes'), [
      { metric: 'process_rss_bytes', instance: '', at, values: [102_400, 102_400] },
    ]);
    assert.deepEqual(of('process_cpu_seconds'), [
      { metric: 'process_cpu_seconds', instance: '', at, values: [1.5, 1.5] },
    ]);
    assert.equal(store.readSeries(RUN, [], START, START + HOUR).length, 10);
    assert.deepEqual(store.readSeries(null, [], 0, START + DAY), []);
    store.prune(START + DAY, 2 ** 30, Infinity);
    assert.deepEqual(store.query('SELECT count(*) FROM series'), [0]);
  });

  it('of a process that becomes one of the largest late give its load since its start', (t) => {
    const store = opened(t);
    const first = { pid: 7, start: 500, command: 'sh', rss: 100, cpu: 10 };
    const late = { pid: 8, start: 500 + 100, command: 'sim', rss: 900, cpu: 0 };
    const samples = [
      { ...aSample, at: 1000, largest: [first] },
      { ...aSample, at: 20_000, largest: [{ ...late, cpu: 19_000 }] },
      { ...aSample, at: 21_000, largest: [{ ...late, cpu: 20_000 }] },
    ];
    store.saveProgress(RUN, START, record({ revision: START + 21_000 }), samples, []);
    const loadOf = (from: number): readonly unknown[] =>
      store
        .loads(from, START + DAY)
        .processes.filter(({ pid }) => pid === 8)
        .map(({ cpu_seconds: cpu, seconds }) => [cpu, seconds]);
    assert.deepEqual(loadOf(START), [[20, 20]]);
    // The process began in this span, its job before it.
    assert.deepEqual(loadOf(START + 500), [[20, 20]]);
    assert.deepEqual(loadOf(START + 5000), [[1, 1]]);
  });

  it('of a process that executes another program give one load', (t) => {
    const store = opened(t);
    const process = { pid: 7, start: 500, rss: 100 };
    const samples = [
      { ...aSample, at: 3000, largest: [{ ...process, command: 'python', cpu: 3000 }] },
      { ...aSample, at: 5000, largest: [{ ...process, command: 'bash', cpu: 5000 }] },
    ];
    store.saveProgress(RUN, START, record({ revision: START + 5000 }), samples, []);
    assert.deepEqual(
      store
        .loads(START, START + DAY)
        .processes.map(({ command, cpu_seconds: cpu, seconds }) => [command, cpu, seconds]),
      [['bash', 5, 5]],
    );
  });

  it('of a running job are read from the oldest row that pruning has left', (t) => {
    const store = opened(t);
    const process = { pid: 7, start: 8, command: 'sh', rss: 100, cpu: 1000 };
    for (let hour = 0; hour < 4; hour++) {
      const at = hour * HOUR;
      const ofHour = { ...aSample, at, cpu: (hour + 1) * 1000, largest: [{ ...process, cpu: (hour + 1) * 1000 }] };
      store.saveProgress(RUN, START, record({ revision: START + at }), [ofHour], batch(START + at, hour, 'cgroup_x'));
    }
    store.prune(START + 2 * HOUR, 2 ** 30, Infinity);
    const at = [START + 2 * HOUR, START + 3 * HOUR];
    assert.deepEqual(store.readSeries(RUN, ['cgroup_x', 'process_cpu_seconds'], 0, START + DAY), [
      { metric: 'process_cpu_seconds', instance: '', at, values: [3, 4] },
      { metric: 'cgroup_x', instance: '', at, values: [2, 3] },
    ]);
    const { jobs, processes } = store.loads(START, START + DAY);
    assert.deepEqual(
      jobs.map(({ cpu_seconds: cpu, seconds }) => [cpu, seconds]),
      [[4, 3 * 3600]],
    );
    assert.deepEqual(
      processes.map(({ command, pid }) => [command, pid]),
      [['sh', 7]],
    );
  });

  it('of an unknown run are refused, and the name of a metric that was rolled back is stored again', (t) => {
    const store = opened(t);
    assert.throws(() => store.saveSeries(RUN, batch(START, 1)), /knows no run/);
    const broken = { ...aSample, rss: 'much' as unknown as number };
    assert.throws(() => store.saveProgress(RUN, START, record(), [broken], batch(START, 1)));
    store.saveSeries(null, batch(START, 1));
    assert.equal(store.readSeries(null, [], 0, START).length, 1);
  });

  it('that are packed read the same from fewer rows', (t) => {
    const store = opened(t);
    store.finish(RUN, START, record({ status: 'finished' }), []);
    store.saveProgress('1.0.0badcafe.1.2', START, record(), []);
    for (let minute = 0; minute < 150; minute++) {
      const at = START + minute * 60_000;
      store.saveSeries(null, batch(at, minute));
      if (minute % 2 === 0) store.saveSeries(null, batch(at + 5, minute, 'loadavg_runnable'));
      store.saveSeries(RUN, batch(at, minute));
      store.saveSeries('1.0.0badcafe.1.2', batch(at, minute));
    }
    const all = (): readonly unknown[] =>
      [null, RUN, '1.0.0badcafe.1.2'].map((run) => store.readSeries(run, [], 0, START + DAY));
    const before = all();
    store.packSeries(START + 150 * 60_000);
    assert.deepEqual(all(), before);
    const rows = (where: string): readonly unknown[] => store.query(`SELECT count(*) FROM series WHERE ${where}`);
    assert.deepEqual(rows('job IS NULL AND loose = 0'), [2]);
    assert.deepEqual(rows('job IS NULL AND loose = 1'), [45]);
    assert.deepEqual(rows('job = 1'), [1]);
    assert.deepEqual(rows('job = 2 AND loose = 1'), [150]);
    store.packSeries(START + 150 * 60_000);
    assert.deepEqual(all(), before);
    // A value that arrives late for a packed hour makes a row of its own.
    store.saveSeries(null, batch(START + 1, 9));
    store.packSeries(START + 150 * 60_000);
    assert.deepEqual(rows('job IS NULL AND loose = 0'), [3]);
  });

  it('that two processes pack at the same time are stored once', (t) => {
    const store = opened(t);
    for (let minute = 0; minute < 150; minute++) store.saveSeries(null, batch(START + minute * 60_000, minute));
    const before = store.readSeries(null, [], 0, START + DAY);
    const table = new SeriesTable(store.nodeDb);
    const transaction = store.nodeDb.transaction.bind(store.nodeDb);
    // Between the reading and the first transaction of `table` another process packs everything.
    store.nodeDb.transaction = ((action: () => void) => {
      store.nodeDb.transaction = transaction;
      store.packSeries(START + 150 * 60_000);
      return transaction(action);
    }) as typeof transaction;
    table.pack(START + 150 * 60_000);
    assert.deepEqual(store.readSeries(null, [], 0, START + DAY), before);
  });

  it('are not packed after the time given for it', (t) => {
    const store = opened(t);
    for (let minute = 0; minute < 150; minute++) store.saveSeries(null, batch(START + minute * 60_000, minute));
    store.packSeries(START + 150 * 60_000, -1);
    assert.deepEqual(store.query('SELECT count(*) FROM series WHERE loose = 0'), [0]);
  });

  it('are read without a damaged row', (t) => {
    const store = opened(t);
    store.saveSeries(null, batch(START, 1));
    store.saveSeries(null, batch(START + 1000, 2));
    store.nodeDb.exec("UPDATE series SET packed = x'0102ff' WHERE id = 1");
    const expected = [{ metric: 'loadavg_1min', instance: '', at: [START + 1000], values: [2] }];
    assert.deepEqual(store.readSeries(null, [], 0, START + DAY), expected);
    store.packSeries(START + DAY);
    assert.deepEqual(store.readSeries(null, [], 0, START + DAY), expected);
  });

  it('of the node are deleted by age and by the size of the file', (t) => {
    const store = opened(t);
    for (let hour = 0; hour < 48; hour++) store.saveSeries(null, batch(START + hour * HOUR, hour));
    store.prune(START + DAY, 2 ** 30, Infinity);
    assert.deepEqual(store.query('SELECT count(*) FROM series'), [24]);
    const random = seededRandom(1);
    for (let hour = 48; hour < 148; hour++)
      store.saveSeries(null, [
        {
          source: 'noise',
          at: [START + hour * HOUR],
          columns: Array.from({ length: 1000 }, (_, cpu) => ({
            metric: 'noise_x',
            instance: String(cpu),
            resolution: 1,
            values: [Math.floor(random() * 2 ** 50)],
          })),
        },
      ]);
    store.prune(0, 0.5 * 2 ** 20, Infinity);
    const left = store.query('SELECT at FROM series ORDER BY at');
    assert.ok(left.length > 10 && left.length < 100, `${left.length} rows are left`);
    assert.equal(left.at(-1), START + 147 * HOUR);
  });

  it('lose the names of metrics that no row uses', (t) => {
    const store = opened(t);
    store.saveSeries(null, batch(START, 1, 'netdev_x', 'veth123'));
    store.saveSeries(null, batch(START + 10 * DAY, 1));
    store.prune(START + DAY, 2 ** 30, Infinity);
    assert.deepEqual(store.query("SELECT instance FROM metric WHERE name = 'netdev_x'"), []);
    // The metric comes back under another number.
    store.saveSeries(null, batch(START + 11 * DAY, 1, 'netdev_x', 'veth123'));
    assert.equal(store.readSeries(null, ['netdev_x'], 0, START + 12 * DAY).length, 1);
    assert.deepEqual(store.query('SELECT id FROM metric ORDER BY id'), [1, 3, 4]);
  });

  it('are found by an index', (t) => {
    const store = opened(t);
    const plan = store.nodeDb
      .prepare<[], { detail: string }>(
        'EXPLAIN QUERY PLAN SELECT packed FROM series WHERE job IS NULL AND loose IN (0, 1) AND at <= 7',
      )
      .all();
    assert.match(plan[0]?.detail ?? '', /USING INDEX series_of_job \(job=\? AND loose=\? AND at<\?\)/);
  });

  it('take at most 8 bytes a value while loose, and fewer once packed', (t) => {
    const random = seededRandom(3);
    const store = opened(t);
    store.saveProgress(RUN, START, record(), []);
    const size = (): number => Number(store.query("SELECT sum(pgsize) FROM dbstat WHERE name LIKE 'series%'")[0]);
    /** Half are counters that grow, half gauges that change now and then. */
    const metrics = Array.from({ length: 40 }, (_, index) => ({
      value: Math.floor(random() * 1e10),
      grows: index < 20,
    }));
    const readings = (ticks: readonly number[]): SeriesBatch => [
      {
        source: 'node',
        at: ticks.map((tick) => START + tick * 1000 + Math.floor(random() * 5)),
        columns: metrics.map((metric, index) => ({
          metric: `node_${index}`,
          instance: '',
          resolution: 1,
          values: ticks.map(() => {
            if (metric.grows) metric.value += Math.floor(random() * 1e6);
            else if (random() < 0.3) metric.value = Math.floor(random() * 1e9);
            return metric.value;
          }),
        })),
      },
    ];
    for (let second = 0; second < 3600; second += 60)
      store.saveSeries(null, readings([0, 10, 20, 30, 40, 50].map((after) => second + after)));
    const node = size() / (360 * metrics.length);
    for (let second = 0; second < 600; second += 5)
      store.saveSeries(RUN, readings([0, 1, 2, 3, 4].map((after) => second + after)));
    const values = (360 + 600) * metrics.length;
    const open = size() / values;
    store.finish(RUN, START, record({ status: 'finished' }), []);
    store.packSeries(START + 2 * HOUR);
    store.nodeDb.exec('VACUUM');
    const packed = size() / values;
    t.diagnostic(
      `${node.toFixed(2)} (node), ${open.toFixed(2)} (all) bytes a value while loose, ${packed.toFixed(2)} packed`,
    );
    assert.ok(node <= 8 && open <= 8 && packed < open);
  });
});

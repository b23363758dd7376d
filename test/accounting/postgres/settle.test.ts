import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresHistory, type PostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { StoreError } from '../../../src/accounting/store-error';
import { settle } from '../../../src/cli/commands/settle';
import type { JobRecord } from '../../../src/record/record';
import { fakeTerminal } from '../../cli/fake-terminal';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { DAY, GIB, HOUR, iso, job, lineOf, peakOf, T0 } from '../suite/fixture';
import { readPages } from '../suite/pages-suite';
import { tasksBy } from '../suite/tasks-suite';
import { noPostgres, startServer, type Server } from './server';

/** Records of jobs of all kinds: parallel jobs, arrays, running ones, with accounting lines, self-reported. */
function variedRecords(): readonly JobRecord[] {
  return Array.from({ length: 40 }, (_none, n): readonly JobRecord[] => {
    const id = 1 + Math.floor(n / 2);
    const end = T0 + n * 2 * HOUR;
    const master = job(id, end, {
      run_id: `0badcafe.${n}.1`,
      task_id: n % 5 === 0 ? n + 1 : null,
      owner: ['bob', 'eve', null][n % 3] ?? null,
      project: n % 4 === 0 ? 'physics' : null,
      job_name: `align_${n % 7}`,
      exit_status: n % 6 === 0 ? 1 : 0,
      signal: 0,
      pe: n % 4 === 0 ? 'mpi' : null,
      trust: n % 9 === 0 ? 'self-reported' : 'root',
      series: { start: iso(end - HOUR), step_seconds: 10, rss_bytes: [1, 2, n], others: {} },
    });
    const task = {
      ...master,
      pe_task_id: `1.node${n % 2}`,
      job_name: null,
      host: `node${n % 2}`,
      run_id: `0badcafe.${n}.2`,
    };
    const heartbeat: JobRecord = {
      ...master,
      status: 'running',
      ended_at: null,
      revision: end - 600_000,
      exit_status: null,
    };
    const line = lineOf({ ...master, owner: master.owner ?? 'bob' });
    if (n % 8 === 7) return [heartbeat];
    return [heartbeat, master, ...(n % 4 === 0 ? [task] : []), ...(n % 3 === 0 ? [line] : [])];
  }).flat();
}

const interval = { since: T0 - DAY, until: T0 + 20 * DAY };
const FILTERS = [
  {},
  { owner: 'bob' },
  { project: 'physics' },
  { host: 'node*' },
  { job_name: 'align_4' },
  { job_name: 'align_?' },
  { failed: true },
  { states: ['running'] },
  { sampled: true, pe: 'mpi' },
  { peak_at_least: 1, share_at_most: 0.5 },
  { self_reported: true },
] as const;

/** The answers of a reader to many queries. */
async function answers(store: AccountingReader): Promise<readonly unknown[]> {
  const found: unknown[] = [];
  for (let id = 1; id <= 20; id++) found.push(await store.job({ job_id: id, all: true }));
  for (let id = 1; id <= 20; id++) found.push(await tasksBy(store, id));
  found.push(await store.job({ job_id: 3, task_id: 6 }));
  found.push((await store.jobs([1, 2, 3, 4])).map(({ record }) => JSON.stringify(record)).sort());
  found.push(await store.running({ since: T0 }));
  for (const filter of FILTERS) {
    for (const sort of ['time', 'peak', 'requested', 'unused', 'cpu'] as const) {
      const { records, totals } = await store.records({ ...interval, ...filter, sort, limit: 9 });
      // Records with the same amount may come in any order.
      const sorted = sort === 'time' ? records.map(({ record }) => record.ended_at ?? record.revision) : records.length;
      found.push([filter, sort, sorted, totals]);
    }
    for (const by of ['owner', 'host', 'job_name', 'day'] as const) {
      const { read, ...summary } = await store.summary({ ...interval, ...filter, by });
      assert.ok(read >= 0);
      found.push([filter, by, summary]);
    }
  }
  return found;
}

/** Asserts that all numbers are close: sums depend on their order, and roll-ups keep hours in thousandths. */
function assertNear(actual: unknown, expected: unknown, place = ''): void {
  if (typeof actual === 'number' && typeof expected === 'number')
    assert.ok(Math.abs(actual - expected) <= 0.02 + 1e-9 * Math.abs(expected), `${place}: ${actual}, not ${expected}`);
  else if (typeof actual === 'object' && typeof expected === 'object' && actual !== null && expected !== null) {
    assert.deepEqual(Object.keys(actual).sort(), Object.keys(expected).sort(), place);
    const other = new Map(Object.entries(expected));
    for (const [key, value] of Object.entries(actual)) assertNear(value, other.get(key), `${place}.${key}`);
  } else assert.deepEqual(actual, expected, place);
}

describe('a store with records in its inbox', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  const waiting = async (name: string): Promise<readonly object[]> =>
    server.run(name, 'SELECT ended, count(*) AS rows FROM qmemacct.inbox GROUP BY ended');

  it('answers every query as if they were settled', async (t) => {
    const name = await server.database();
    const plain = openPostgresHistory(server.url(await server.database()));
    const hooks = openPostgresStore(server.url(name));
    const store: PostgresHistory = openPostgresHistory(server.url(name));
    const shared = openPostgresReader(server.url(name), { sharedMs: HOUR });
    t.after(() => Promise.all([plain, hooks, store, shared].map((one) => one.close())));
    const all = variedRecords();
    await plain.merge(all);
    // A third of the records is in the table, and its days are rolled up, before the others arrive.
    await store.merge(all.filter((_record, n) => n % 3 === 0));
    await store.rollUp({});
    assert.ok((await hooks.merge(all.filter((_record, n) => n % 3 !== 0))).every(({ ok }) => ok));
    const expected = await answers(plain);
    assertNear(await answers(store), expected);
    assertNear(await answers(shared), expected);
    assert.ok((await store.settle()).settled > 0);
    assertNear(await answers(store), expected);
    // Only heartbeats stay in the inbox.
    assert.deepEqual(
      (await waiting(name)).filter((row) => 'ended' in row && row.ended === true),
      [],
    );
    await store.rollUp({});
    assertNear(await answers(store), expected);
  });

  it('lists a lost job at the time at which it counts, however late it was found to be lost', async (t) => {
    const name = await server.database();
    const [hooks, store] = [openPostgresStore(server.url(name)), openPostgresHistory(server.url(name))];
    t.after(() => Promise.all([hooks, store].map((one) => one.close())));
    const lost = { status: 'lost', ended_at: null, revision: T0 + 9 * DAY } as const;
    await hooks.merge([job(1, T0, lost), job(2, T0, { ...lost, started_at: null })]);
    const found = async (): Promise<readonly number[]> => {
      const { records, totals } = await store.records({ since: T0 - DAY, until: T0 + DAY });
      return [totals.records, ...records.map(({ record }) => record.job_id)];
    };
    assert.deepEqual(await found(), [2, 1, 2]);
    await store.settle();
    assert.deepEqual(await found(), [2, 1, 2]);
  });

  it('sums up a slave task by its master in the inbox, even if that ended days later', async (t) => {
    const name = await server.database();
    const [hooks, store] = [openPostgresStore(server.url(name)), openPostgresHistory(server.url(name))];
    t.after(() => Promise.all([hooks, store].map((one) => one.close())));
    const parallel = { pe: 'mpi', slots: 4, host_slots: 4, job_name: 'wave' } as const;
    // The master on the task's own host runs on for days.
    await store.merge([job(1, T0, { ...parallel, pe_task_id: '1.node1', run_id: 'ab.1.2', job_name: null })]);
    await hooks.merge([job(1, T0 + 5 * DAY, { ...parallel, run_id: 'ab.1.1' })]);
    const facts = async (): Promise<readonly unknown[]> => {
      const { totals, groups } = await store.summary({ since: T0 - DAY, until: T0 + DAY, by: 'job_name' });
      return [totals.slot_seconds, groups.map(({ key }) => key)];
    };
    assert.deepEqual(await facts(), [0, ['wave']]);
    await store.settle();
    assert.deepEqual(await facts(), [0, ['wave']]);
  });

  it('has no negative unused memory, even if a record in the inbox sets the failed code', async (t) => {
    const name = await server.database();
    const [hooks, store] = [openPostgresStore(server.url(name)), openPostgresHistory(server.url(name))];
    t.after(() => Promise.all([hooks, store].map((one) => one.close())));
    await hooks.merge([job(1, T0, { pe: 'mpi', failed: 1, peak_rss: peakOf(9 * GIB) })]);
    const unused = async (): Promise<number> =>
      (await store.summary({ ...interval, by: 'owner' })).totals.unused_gib_hours;
    assert.equal(await unused(), 0);
    await store.settle();
    assert.equal(await unused(), 0);
  });

  it('has them at their place in pages, newest first', async (t) => {
    const name = await server.database();
    const [hooks, store] = [openPostgresStore(server.url(name)), openPostgresHistory(server.url(name))];
    t.after(() => Promise.all([hooks, store].map((one) => one.close())));
    const jobs = Array.from({ length: 1200 }, (_none, n) => job(n + 1, T0 + n * 1000));
    const waits = ({ job_id: id }: JobRecord): boolean => id <= 2 || id === 700 || id >= 1199;
    await store.merge(jobs.filter((one) => !waits(one)));
    await hooks.merge(jobs.filter(waits));
    const expected = jobs.map(({ job_id: id }) => id).reverse();
    const found = async (): Promise<readonly number[]> =>
      (await readPages(store, interval)).map(({ job_id: id }) => id);
    assert.deepEqual(await found(), expected);
    await store.settle();
    assert.deepEqual(await found(), expected);
  });

  it('is read as at the first query within sharedMs, and anew after a failure or that time', async (t) => {
    const name = await server.database();
    const hooks = openPostgresStore(server.url(name));
    const [long, short] = [HOUR, 100].map((sharedMs) => openPostgresReader(server.url(name), { sharedMs }));
    assert.ok(long !== undefined && short !== undefined);
    t.after(() => Promise.all([hooks, long, short].map((one) => one.close())));
    const jobsSeen = async (reader: AccountingReader): Promise<number> =>
      (await reader.summary({ ...interval, by: 'owner' })).totals.jobs;
    await hooks.merge([job(1, T0)]);
    assert.deepEqual([await jobsSeen(long), await jobsSeen(short)], [1, 1]);
    await hooks.merge([job(2, T0)]);
    assert.equal(await jobsSeen(long), 1);
    assert.deepEqual(await long.nodes({ since: 0 }), []);
    await assert.rejects(long.jobs([0.5]));
    assert.equal(await jobsSeen(long), 2);
    await until(async () => (await jobsSeen(short)) === 2, 'the next moment');
    await server.run(
      name,
      "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE state = 'idle in transaction'",
    );
    // A query before the end of the connection is noticed fails.
    await jobsSeen(long).catch((error: unknown) => assert.ok(error instanceof StoreError));
    assert.equal(await jobsSeen(long), 2);
  });

  it('takes records in the inbox before those in the lists of large records of a day', async (t) => {
    const name = await server.database();
    const hooks = openPostgresStore(server.url(name));
    const store = openPostgresHistory(server.url(name));
    t.after(() => Promise.all([hooks.close(), store.close()]));
    const peakOfJob = (number: number, gib: number): JobRecord =>
      job(number, T0 + number * 1000, { peak_rss: peakOf(gib * GIB), revision: T0 + DAY + gib });
    await store.merge(Array.from({ length: 2100 }, (_none, index) => peakOfJob(index + 1, index + 1)));
    await store.rollUp({});
    const largest = async (): Promise<readonly (readonly [number, number | undefined])[]> => {
      const query = { since: T0, until: T0 + DAY, sort: 'peak', limit: 3, totals: false } as const;
      const { records } = await store.records(query);
      return records.map(({ record }) => [record.job_id, (record.peak_rss?.lower_bytes ?? 0) / GIB]);
    };
    assert.deepEqual(await largest(), [
      [2100, 2100],
      [2099, 2099],
      [2098, 2098],
    ]);
    // New revisions of a record in the list, and of one that is not.
    await hooks.merge([peakOfJob(2100, 3000), peakOfJob(7, 4000)]);
    assert.deepEqual(await largest(), [
      [7, 4000],
      [2100, 3000],
      [2099, 2099],
    ]);
  });

  it('keeps the newest heartbeat of a running job until the job ends', async (t) => {
    const name = await server.database();
    const hooks = openPostgresStore(server.url(name));
    const store = openPostgresHistory(server.url(name));
    t.after(() => Promise.all([hooks.close(), store.close()]));
    const now = Date.now();
    const beat = (revision: number): JobRecord =>
      job(1, now, { status: 'running', ended_at: null, revision, cpu_seconds: revision / 1000 });
    for (const revision of [now, now + 2000, now + 1000]) await hooks.merge([beat(revision)]);
    assert.deepEqual(await store.settle(), { settled: 0, unreadable: 0 });
    const running = await store.running({ since: now });
    assert.deepEqual(
      running.map(({ record }) => record.revision),
      [now + 2000],
    );
    await hooks.merge([job(1, now + 5000), job(1, now + 5000)]);
    assert.equal((await store.running({ since: 0 })).length, 0);
    assert.deepEqual(await store.settle(), { settled: 2, unreadable: 0 });
    assert.deepEqual(await waiting(name), []);
    // A late heartbeat of an ended job does not count, and is removed a day after it was received.
    await hooks.merge([beat(now + 3000)]);
    assert.equal((await store.running({ since: 0 })).length, 0);
    await server.run(name, "UPDATE qmemacct.inbox SET received_at = now() - interval '25 hours'");
    assert.deepEqual(await store.settle(), { settled: 1, unreadable: 0 });
    assert.equal((await store.job({ job_id: 1 })).records[0]?.record.status, 'finished');
  });

  it('answers by the last heartbeats of the array tasks in the interval', async (t) => {
    const name = await server.database();
    const hooks = openPostgresStore(server.url(name));
    const store = openPostgresHistory(server.url(name));
    t.after(() => Promise.all([hooks.close(), store.close()]));
    const now = Date.now();
    const beat = (task: number, revision: number): JobRecord =>
      job(1, now, { task_id: task, run_id: `0badcafe.${task}.1`, status: 'running', ended_at: null, revision });
    const day = { since: now - DAY, until: now + DAY };
    for (const step of [0, 1000, 2000]) {
      await hooks.merge([beat(1, now + step), beat(2, now - 5 * DAY + step)]);
      const { records } = await store.job({ job_id: 1, all: true });
      const revisions = records.map(({ record }) => record.revision).sort((a, b) => a - b);
      assert.deepEqual(revisions, [now - 5 * DAY + step, now + step]);
      const listed = await store.records({ ...day, limit: 10 });
      assert.deepEqual(
        listed.records.map(({ record }) => [record.task_id, record.revision]),
        [[1, now + step]],
      );
      assert.equal(listed.totals.records, 1);
    }
    await server.run(name, "UPDATE qmemacct.inbox SET account = 'cut', revision = revision + 1 WHERE task_id = 1");
    assert.equal((await store.records({ ...day, limit: 10 })).records.length, 0);
    await hooks.merge([beat(1, now + 4000)]);
    assert.equal((await store.records({ ...day, limit: 10 })).records[0]?.record.revision, now + 4000);
  });

  it('keeps an unreadable record with its error, and settles the others', async (t) => {
    const name = await server.database();
    const hooks = openPostgresStore(server.url(name));
    t.after(() => hooks.close());
    const { revision, status } = job(1, T0);
    const bad = { revision, status, job_id: 5, cluster: 'cell' };
    await server.run(name, `SELECT qmemacct.deliver('${JSON.stringify([bad])}')`);
    await hooks.merge([job(1, T0)]);
    const config = join(temporaryDirectory(), 'qmemacct.toml');
    writeFileSync(config, `accounting = "${server.url(name)}"\ndeliver_as = "root"\n`);
    const terminal = fakeTerminal();
    assert.equal(await settle({ config, color: false }, terminal), 3);
    assert.equal(terminal.output(), '1 accounts settled\n');
    assert.match(terminal.warnings(), /1 accounts can't be read/);
    const [row] = await server.run(name, 'SELECT job_id, error FROM qmemacct.inbox');
    assert.deepEqual(row, { job_id: 5, error: 'host is not a string' });
    const state = await hooks.inboxState();
    assert.deepEqual([state?.rows, state?.unreadable], [0, 1]);
    const again = fakeTerminal();
    assert.equal(await settle({ config, color: false }, again), 0);
    assert.equal(again.output(), 'nothing waits\n');
    // As after an upgrade.
    await server.run(name, 'UPDATE qmemacct.inbox SET error = NULL');
    assert.equal(await settle({ config, color: false }, fakeTerminal()), 3);
  });

  it('sets aside only the record that the table refuses, and waits for no row locked by a delivery', async (t) => {
    const name = await server.database();
    const [hooks, store, other] = [
      openPostgresStore(server.url(name)),
      openPostgresHistory(server.url(name)),
      connect(server.url(name)),
    ];
    t.after(() => Promise.all([hooks.close(), store.close(), other.close()]));
    const numbers = Array.from({ length: 60 }, (_none, index) => index + 1);
    await hooks.merge(numbers.map((number) => job(number, T0)));
    await server.run(name, 'ALTER TABLE qmemacct.record ADD CHECK (job_id <> 2)');
    // A statement that waits for the lock fails.
    await server.run(name, `ALTER DATABASE ${name} SET lock_timeout = '2s'`);
    await other.transaction(async (inner) => {
      await inner.query('SELECT FROM qmemacct.inbox WHERE job_id = 1 FOR UPDATE');
      assert.deepEqual(await store.settle(), { settled: 58, unreadable: 1 });
    });
    const left = await server.run(name, 'SELECT job_id, error IS NULL AS good FROM qmemacct.inbox ORDER BY job_id');
    assert.deepEqual(
      left.map((row) => ({ ...row })),
      [
        { job_id: 1, good: true },
        { job_id: 2, good: false },
      ],
    );
    assert.deepEqual(await store.settle(), { settled: 1, unreadable: 0 });
    // One bad record does not cause a transaction for each of the others.
    const [{ transactions } = {}] = (await server.run(
      name,
      'SELECT count(DISTINCT xmin::text)::integer AS transactions FROM qmemacct.record',
    )) as readonly { readonly transactions?: number }[];
    assert.ok((transactions ?? 60) <= 10, `${transactions} transactions`);
  });
});

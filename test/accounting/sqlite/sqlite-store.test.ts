import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { SqliteDatabase } from '../../../src/native/sqlite';
import fc from 'fast-check';
import { asStored, mergeRecords } from '../../../src/accounting/merge';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingStore, RecordSort } from '../../../src/accounting/store';
import { StoreError } from '../../../src/accounting/store-error';
import { emptyRecord } from '../../../src/sampler/record';
import type { JobRecord } from '../../../src/sampler/record';
import { arbitraryRecord } from '../arbitrary-record';
import { temporaryStore } from '../temporary-store';

const GIB = 2 ** 30;
const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const T0 = Date.UTC(2026, 10, 1);

const iso = (ms: number): string => new Date(ms).toISOString();

function opened(t: TestContext): AccountingStore & { readonly path: string } {
  const path = temporaryStore(t);
  const store = openSqliteStore(path, 0o640);
  t.after(() => store.close());
  return { ...store, path };
}

function job(id: number, endedAt: number, fields: Partial<JobRecord> = {}): JobRecord {
  const key = {
    cluster: 'cell',
    job_id: id,
    task_id: null,
    pe_task_id: null,
    host: 'node1',
    run_id: `0badcafe.${id}.1`,
  };
  return {
    ...emptyRecord({ ...key, ...fields }, 'finished', 'root', endedAt),
    owner: 'bob',
    submitted_at: iso(endedAt - 2 * HOUR),
    started_at: iso(endedAt - HOUR),
    ended_at: iso(endedAt),
    wallclock_seconds: 3600,
    host_slots: 2,
    cpu_seconds: 1800,
    h_vmem: { request_bytes: 4 * GIB, limit_bytes: 8 * GIB, per: 'slot' },
    peak_rss: {
      lower_bytes: GIB,
      upper_bytes: null,
      slack_bytes: 0,
      proved: false,
      exact: false,
      open: ['exec'],
      sources: ['sample'],
      at: iso(endedAt - 1),
      command: 'sort',
    },
    rss_byte_seconds: 3600 * 0.5 * GIB,
    ...fields,
  };
}

describe('merge', () => {
  it('reads what was stored before there were metrics, and before there were granted hosts', async (t) => {
    const store = opened(t);
    const metrics = { perf_cycles: 1.5e12, oom_kills: 0, gpu_share: 0.25 };
    const granted_hosts = [
      { host: 'node1', slots: 2 },
      { host: 'node2', slots: 300 },
    ];
    await store.merge([job(1, T0), job(2, T0, { metrics }), job(3, T0, { metrics, granted_hosts })]);
    const db = new SqliteDatabase(store.path);
    const detail = db.prepare<[], Buffer>('SELECT detail FROM record WHERE job_id = 1').pluck().get();
    assert.equal(detail?.[0], 3);
    db.prepare('UPDATE record SET detail = ? WHERE job_id = 1').run(Buffer.from([1, ...detail.subarray(1)]));
    const second = db.prepare<[], Buffer>('SELECT detail FROM record WHERE job_id = 2').pluck().get();
    db.prepare('UPDATE record SET detail = ? WHERE job_id = 2').run(Buffer.from([2, ...(second ?? []).slice(1)]));
    db.close();
    const found = await Promise.all([1, 2, 3].map((id) => store.job({ job_id: id })));
    assert.deepEqual(
      found.map(({ records }) => records[0]?.record),
      [job(1, T0), job(2, T0, { metrics }), job(3, T0, { metrics, granted_hosts })],
    );
  });

  it('gives every record back as it came', async (t) => {
    const store = opened(t);
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryRecord(), { minLength: 1, maxLength: 10 }), async (records) => {
        const outcomes = await store.merge(records);
        assert.ok(outcomes.every(({ ok }) => ok));
        for (const record of records) {
          const { records: found } = await store.job({ job_id: record.job_id, all: true });
          const same = found.filter(
            ({ record: other }) => other.run_id === record.run_id && other.host === record.host,
          );
          // Two of the array may share a key; then they have been merged.
          if (same.length === 1 && records.filter(({ job_id }) => job_id === record.job_id).length === 1)
            assert.deepEqual(same[0]?.record, asStored(record).record);
        }
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });

  it('keeps what mergeRecords makes, provenance included', async (t) => {
    const store = opened(t);
    let id = 0;
    await fc.assert(
      fc.asyncProperty(fc.array(arbitraryRecord({ keys: 1 }), { minLength: 2, maxLength: 5 }), async (made) => {
        id++;
        const records = made.map((record) => ({ ...record, job_id: id }));
        for (const record of records) await store.merge([record]);
        const expected = records.map(asStored).reduce((a, b) => mergeRecords(a, b));
        const { records: found } = await store.job({ job_id: id, all: true });
        assert.equal(found.length, 1);
        const { record, ended, provenance } = found[0] ?? assert.fail();
        assert.deepEqual({ record, ended, provenance }, expected);
        assert.deepEqual(
          await store.merge(records),
          records.map(() => ({ ok: true, change: 'unchanged' })),
        );
      }),
      { numRuns: 150, endOnFailure: true },
    );
  });

  it('tells what changed', async (t) => {
    const store = opened(t);
    const record = job(1, T0);
    const later = { ...record, revision: T0 + 1, cpu_seconds: 1801 };
    assert.deepEqual(await store.merge([record, record, later]), [
      { ok: true, change: 'added' },
      { ok: true, change: 'unchanged' },
      { ok: true, change: 'changed' },
    ]);
  });

  it('leaves out a record that it cannot store, and stores the others', async (t) => {
    const store = opened(t);
    const bad = { ...job(2, T0), job_name: 'never seen before', started_at: 'yesterday' };
    const outcomes = await store.merge([job(1, T0), bad, { ...job(3, T0), job_name: 'never seen before' }]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [true, false, true],
    );
    assert.equal((await store.job({ job_id: 2 })).records.length, 0);
    assert.equal((await store.job({ job_id: 3 })).records[0]?.record.job_name, 'never seen before');
  });

  it('keeps the series of one revision when the next has none, and replaces it when it has', async (t) => {
    const store = opened(t);
    const series = { start: iso(T0), step_seconds: 10, rss_bytes: [4096, 0, 8192, 1] };
    await store.merge([{ ...job(1, T0), series }]);
    await store.merge([{ ...job(1, T0), revision: T0 + 1 }]);
    assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record.series, series);
    const longer = { ...series, rss_bytes: [...series.rss_bytes, 5] };
    await store.merge([{ ...job(1, T0), revision: T0 + 2, series: longer }]);
    assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record.series, longer);
  });
});

describe('job', () => {
  it('finds nothing for an unknown job or cluster', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0)]);
    const nothing = { records: [], older_incarnations: 0, newer_incarnations: 0 };
    assert.deepEqual(await store.job({ job_id: 2 }), nothing);
    assert.deepEqual(await store.job({ job_id: 1, cluster: 'elsewhere' }), nothing);
    assert.deepEqual(await store.job({ job_id: 1, task_id: 1 }), nothing);
  });

  it('numbers attempts, and picks the newest of the jobs that shared a number', async (t) => {
    const store = opened(t);
    const first = { submitted_at: iso(T0) };
    const again = { submitted_at: iso(T0 + 90 * DAY) };
    await store.merge([
      job(7, T0 + HOUR, { ...first, run_id: 'a.1.1', started_at: iso(T0 + 10) }),
      job(7, T0 + 9 * HOUR, { ...first, run_id: 'a.2.2', started_at: iso(T0 + 8 * HOUR), host: 'node2' }),
      job(7, T0 + 91 * DAY, { ...again, run_id: 'b.1.1', started_at: iso(T0 + 90 * DAY + 10) }),
    ]);
    const newest = await store.job({ job_id: 7 });
    assert.equal(newest.older_incarnations, 1);
    assert.deepEqual(
      newest.records.map(({ record, attempt, attempts, incarnation }) => [
        record.run_id,
        attempt,
        attempts,
        incarnation,
      ]),
      [['b.1.1', 1, 1, 2]],
    );
    const all = await store.job({ job_id: 7, all: true });
    assert.deepEqual(
      all.records.map(({ record, attempt, attempts, incarnation }) => [record.run_id, attempt, attempts, incarnation]),
      [
        ['a.1.1', 1, 2, 1],
        ['a.2.2', 2, 2, 1],
        ['b.1.1', 1, 1, 2],
      ],
    );
    const then = await store.job({ job_id: 7, at: T0 + 10 * DAY });
    assert.deepEqual([then.records.length, then.older_incarnations, then.newer_incarnations], [2, 0, 1]);
  });

  it('narrows to a task and to a cluster', async (t) => {
    const store = opened(t);
    await store.merge([
      job(7, T0, { task_id: 1 }),
      job(7, T0, { task_id: 2 }),
      job(7, T0, { task_id: 2, cluster: 'other' }),
      job(7, T0, { task_id: 2, pe_task_id: '1.node2', host: 'node2' }),
    ]);
    const found = async (query: object): Promise<unknown> =>
      (await store.job({ job_id: 7, ...query })).records.map(({ record, attempt }) =>
        [record.cluster, record.task_id, record.pe_task_id ?? '-', attempt].join(' '),
      );
    assert.deepEqual(await found({}), ['cell 1 - 1', 'cell 2 - 1', 'cell 2 1.node2 1', 'other 2 - 1']);
    assert.deepEqual(await found({ task_id: 2, cluster: 'cell' }), ['cell 2 - 1', 'cell 2 1.node2 1']);
  });
});

describe('running', () => {
  const series = { start: iso(T0), step_seconds: 5, rss_bytes: [1, 2, 3] };
  const heartbeat = (id: number, revision: number, fields: Partial<JobRecord> = {}): JobRecord => ({
    ...job(id, T0, { ended_at: null, status: 'running', series, ...fields }),
    revision,
  });
  const ids = async (store: AccountingStore, since: number, cluster?: string): Promise<readonly number[]> => {
    const found = await store.running({ since, ...(cluster === undefined ? {} : { cluster }) });
    return found.map(({ record }) => record.job_id);
  };

  it('lists what was heard of since then and has not ended, with its series', async (t) => {
    const store = opened(t);
    await store.merge([
      heartbeat(3, T0 + 3000),
      heartbeat(1, T0 + 1000),
      heartbeat(2, T0 + 2000, { cluster: 'other' }),
      job(4, T0 + 9000),
    ]);
    assert.deepEqual(await ids(store, T0), [1, 3, 2]);
    assert.deepEqual(await ids(store, T0 + 2000), [3, 2]);
    assert.deepEqual(await ids(store, T0, 'other'), [2]);
    assert.deepEqual(await ids(store, T0, 'no such'), []);
    assert.deepEqual((await store.running({ since: T0 + 3000 }))[0]?.record, heartbeat(3, T0 + 3000));
  });

  it('forgets a job that has ended, for good: a late heartbeat changes nothing', async (t) => {
    const store = opened(t);
    const finished = { ...job(1, T0 + 5000), series: { ...series, rss_bytes: [1, 2, 3, 4] } };
    await store.merge([heartbeat(1, T0 + 1000)]);
    assert.deepEqual(await ids(store, 0), [1]);
    await store.merge([finished]);
    assert.deepEqual(await ids(store, 0), []);
    // The second by a clock that was set back after it.
    for (const revision of [T0 + 4000, T0 + 99_000])
      assert.deepEqual(await store.merge([heartbeat(1, revision)]), [{ ok: true, change: 'unchanged' }]);
    assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record, finished);
    assert.deepEqual(await ids(store, 0), []);
  });

  it('works on a store of an older schema as soon as a writer has opened it', async (t) => {
    const store = opened(t);
    await store.merge([heartbeat(1, T0 + 1000), job(2, T0)]);
    const old = new SqliteDatabase(store.path);
    old.exec('DROP INDEX record_running; PRAGMA user_version = 2');
    old.close();
    assert.throws(() => openSqliteReader(store.path), /it has schema 2, this qmemacct needs 3/);
    const writer = openSqliteStore(store.path, 0o640);
    t.after(() => writer.close());
    assert.deepEqual(await ids(writer, T0), [1]);
  });
});

describe('owner, of parallel jobs', () => {
  it('counts limit and slots of a host once, use and CPU time of every task', async (t) => {
    const store = opened(t);
    const task = (host: string, id: string, run: string): JobRecord =>
      job(7, T0, { host, pe_task_id: id, run_id: run, submitted_at: null });
    await store.merge([
      job(7, T0),
      task('node1', '1.node1', 'a'),
      task('node2', '1.node2', 'b'),
      task('node2', '2.node2', 'c'),
    ]);
    const { totals } = await store.records({ owner: 'bob', since: T0 - DAY, until: T0 + DAY });
    assert.deepEqual(
      [totals.records, totals.jobs, totals.requested_gib_hours, totals.requested_with_used_gib_hours],
      [4, 1, 16, 16],
    );
    assert.deepEqual([totals.used_gib_hours, totals.cpu_seconds, totals.slot_seconds], [2, 7200, 14_400]);
    const alone = await store.records({ owner: 'bob', since: T0 - DAY, until: T0 + DAY, limit: 1 });
    assert.equal(alone.records.length, 1);
  });
});

describe('owner', () => {
  const hours = (value: number): number => Math.round(value * 1e6) / 1e6;

  it('sums over the whole interval, not only over the rows shown', async (t) => {
    const store = opened(t);
    const above = { ...(job(1, T0).peak_rss ?? assert.fail()), lower_bytes: 9 * GIB };
    await store.merge([
      job(1, T0),
      job(2, T0 + 1),
      job(3, T0 + 2, { peak_rss: above }),
      job(4, T0 + 3, { h_vmem: null }),
      job(5, T0 + 4, { peak_rss: null, rss_byte_seconds: null }),
      job(5, T0 + 5, { run_id: 'x.y.z', cpu_seconds: null, host_slots: null }),
      job(6, T0 + 6, { status: 'running', ended_at: null }),
      job(7, T0, { owner: 'eve' }),
      job(8, T0 - 1),
      job(9, T0 + HOUR),
    ]);
    const { records, totals } = await store.records({ owner: 'bob', since: T0, until: T0 + HOUR, limit: 2 });
    assert.deepEqual(
      records.map(({ record }) => record.job_id),
      [6, 5],
    );
    assert.deepEqual(
      Object.fromEntries(Object.entries(totals).map(([name, value]) => [name, hours(value as number)])),
      {
        records: 7,
        jobs: 6,
        running: 1,
        requested_gib_hours: 6 * 8,
        requested_with_used_gib_hours: 5 * 8,
        requested_with_peak_gib_hours: 5 * 8,
        used_gib_hours: 6 * 0.5,
        peak_gib_hours: 5 * 1 + 9,
        cpu_seconds: 6 * 1800,
        slot_seconds: 6 * 7200 + 3600,
        above_request: 1,
        far_below: 3,
        without_limit: 1,
        without_peak: 1,
        without_used: 1,
      },
    );
    const strict = await store.records({ owner: 'bob', since: T0, until: T0 + HOUR, far_below: 0.1 });
    assert.equal(strict.totals.far_below, 0);
  });

  it('counts every job in exactly one of adjoining intervals', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0 - 1), job(2, T0), job(3, T0 + 1), job(4, T0 + DAY)]);
    const ids = async (since: number, until: number): Promise<unknown> =>
      (await store.records({ owner: 'bob', since, until })).records.map(({ record }) => record.job_id);
    assert.deepEqual(await ids(0, T0), [1]);
    assert.deepEqual(await ids(T0, T0 + DAY), [3, 2]);
    assert.deepEqual(await ids(T0 + DAY, T0 + 2 * DAY), [4]);
  });

  it('sorts by what it is asked to', async (t) => {
    const store = opened(t);
    const peak = job(1, T0).peak_rss ?? assert.fail();
    await store.merge([
      job(1, T0 + 3, { wallclock_seconds: 10, cpu_seconds: 50 }),
      job(2, T0 + 2, { wallclock_seconds: 20, cpu_seconds: 5, peak_rss: { ...peak, lower_bytes: 8 * GIB } }),
      job(3, T0 + 1, { wallclock_seconds: 15, cpu_seconds: 500, peak_rss: null }),
    ]);
    const order = async (sort: RecordSort): Promise<unknown> =>
      (await store.records({ owner: 'bob', since: T0, until: T0 + DAY, sort })).records.map(
        ({ record }) => record.job_id,
      );
    assert.deepEqual(await order('time'), [1, 2, 3]);
    assert.deepEqual(await order('wallclock'), [2, 3, 1]);
    assert.deepEqual(await order('cpu'), [3, 1, 2]);
    assert.deepEqual(await order('peak'), [2, 1, 3]);
    assert.deepEqual(await order('requested'), [2, 3, 1]);
    assert.deepEqual(await order('unused'), [1, 2, 3]);
  });

  it('narrows to a cluster and knows nothing of strangers', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0), job(1, T0, { cluster: 'other' })]);
    const interval = { since: 0, until: T0 + DAY };
    assert.equal((await store.records({ owner: 'bob', cluster: 'other', ...interval })).totals.records, 1);
    assert.equal((await store.records({ owner: 'bob', cluster: 'none', ...interval })).totals.records, 0);
    assert.equal((await store.records({ owner: 'mallory', ...interval })).totals.jobs, 0);
  });
});

describe('openSqliteReader', () => {
  it('reads what a store wrote', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0)]);
    const reader = openSqliteReader(store.path);
    assert.deepEqual(await reader.job({ job_id: 1 }), await store.job({ job_id: 1 }));
    await reader.close();
  });

  it('calls a stored record damaged that it cannot read', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0)]);
    const db = new SqliteDatabase(store.path);
    db.prepare("UPDATE record SET detail = x'01'").run();
    db.close();
    await assert.rejects(store.job({ job_id: 1 }), (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /a stored record ends too early; .*restore it/);
      assert.equal(error.retry, false);
      return true;
    });
  });
});

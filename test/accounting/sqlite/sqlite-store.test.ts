import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { listMigrations, migrate } from '../../../src/accounting/migrations';
import { packRunId } from '../../../src/accounting/sqlite/run-id-codec';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { StoreError } from '../../../src/accounting/store-error';
import { SqliteDatabase } from '../../../src/native/sqlite';
import type { JobRecord } from '../../../src/sampler/record';
import { DAY, GIB, HOUR, iso, job, peakOf, T0 } from '../suite/fixture';
import { filterSuite } from '../suite/filter-suite';
import { joinSuite } from '../suite/join-suite';
import { mergeSuite } from '../suite/merge-suite';
import { pruneSuite } from '../suite/prune-suite';
import { querySuite } from '../suite/query-suite';
import { plainSummary } from '../suite/plain-summary';
import { assertSameSummary, summarySuite } from '../suite/summary-suite';
import { temporaryStore } from '../temporary-store';

function opened(t: TestContext): HistoryStore & { readonly path: string } {
  const path = temporaryStore(t);
  const store = openSqliteHistory(path, 0o640);
  t.after(() => store.close());
  return { ...store, path };
}

const open = (t: TestContext): Promise<HistoryStore> => Promise.resolve(opened(t));

mergeSuite(open);
querySuite(open);
filterSuite(open);
joinSuite(open);
summarySuite(open);
pruneSuite(open);

describe('a store that an earlier version wrote', () => {
  /** As form 1 to 3 wrote the detail of the same record, joined with an accounting line. */
  const DETAILS = [
    '01df01040101808080040405000080024006e1d4ee0601318080800610800200061d0d00100000000000d57005c22500b2ea0180800f010101780105a0a907010e',
    '02df11040101808080040405000080024006e1d4ee0601318080800610800200061d0d00100000000000d57005c22500b2ea0180800f030198effbe915020103ea07010101780105a0a907010e',
    '03df31040101808080040405000080024006e1d4ee0601318080800610800200061d0d00100000000000d57005c22500b2ea0180800f030198effbe915020103ea070201020202010101780105a0a907010e',
  ];

  const WORDS = [
    ['cluster', 'cell'],
    ['host', 'node1'],
    ['host', 'node2'],
    ['owner', 'bob'],
    ['command', 'sort'],
    ['complex', 'mem_free'],
    ['note', 'the first \u0001 ms of the job were not observed'],
    ['metric', 'perf_cycles'],
    ['metric', 'oom_kills'],
    ['metric', 'gpu_share'],
  ] as const;

  function recordOfForm(form: number): JobRecord {
    return job(form, T0, {
      ...(form === 3 ? { status: 'running', ended_at: null } : {}),
      exit_status: 0,
      signal: 0,
      failed: 0,
      slots: 4,
      cpu_efficiency: 0.25,
      memory_efficiency: 0.125,
      requests: { mem_free: { request_bytes: GIB, limit_bytes: 2 * GIB, per: 'slot' } },
      peak_rss: { ...peakOf(GIB), slack_bytes: 65536, sources: ['sample', 'mark'], at: iso(T0 - 1000) },
      peak_vmem: {
        ...peakOf(3 * GIB),
        upper_bytes: 3 * GIB + 4096,
        slack_bytes: 65536,
        proved: true,
        open: [],
        sources: ['sample', 'mark'],
        at: iso(T0 - 1000),
      },
      processes: 7,
      max_processes: 3,
      read_bytes: 4096,
      samples: 3605,
      interval_seconds: 1,
      longest_gap_seconds: 1.2,
      sampler: { cpu_seconds: 7.5, max_rss_bytes: 60 * 2 ** 20, mode: 'full' },
      notes: ['the first 120 ms of the job were not observed'],
      metrics: form >= 2 ? { perf_cycles: 1.5e12, oom_kills: 0, gpu_share: 0.25 } : {},
      granted_hosts:
        form >= 3
          ? [
              { host: 'node1', slots: 2 },
              { host: 'node2', slots: 2 },
            ]
          : null,
    });
  }

  /** A store of that schema, with the records of `recordOfForm`, of which the third still runs. */
  function oldStore(t: TestContext, schema: number): string {
    const path = temporaryStore(t);
    const db = new SqliteDatabase(path);
    db.pragma('application_id = 0x716d6163');
    migrate(db, listMigrations().slice(0, schema));
    for (const [dictionary, word] of WORDS) db.prepare(`INSERT INTO ${dictionary} (name) VALUES (?)`).run(word);
    for (const [index, detail] of DETAILS.entries())
      db.prepare(
        `INSERT INTO record (job_id, cluster_id, host_id, run_id, owner_id, slots, host_slots, submitted_at, started_at,
           ended_at, exit_status, signal, failed, status, trust, revision, h_vmem_limit, peak_rss_lower, wallclock_ms,
           cpu_ms, rss_byte_seconds, detail)
         VALUES (@id, 1, 1, @run, 1, 4, 2, @submitted, @started, @ended, 0, 0, 0, @status, 0, @revision, @limit, @peak,
           3600000, 1800000, @area, @detail)`,
      ).run({
        id: index + 1,
        run: packRunId(`0badcafe.${index + 1}.1`),
        submitted: T0 - 2 * HOUR,
        started: T0 - HOUR,
        ended: index < 2 ? T0 : null,
        status: index < 2 ? 0 : 1,
        revision: T0,
        limit: 8 * GIB,
        peak: GIB,
        area: 1800 * GIB,
        detail: Buffer.from(detail, 'hex'),
      });
    db.close();
    return path;
  }

  it('gives its records back, whatever form their details have', async (t) => {
    const store = openSqliteStore(oldStore(t, 3), 0o640);
    t.after(() => store.close());
    const found = await Promise.all([1, 2, 3].map((id) => store.job({ job_id: id })));
    assert.deepEqual(
      found.map(({ records: [stored] }) => stored?.record),
      [1, 2, 3].map(recordOfForm),
    );
    const stamp = { trust: 'accounting', revision: T0 + 60_000, ended: true };
    for (const { records } of found) assert.deepEqual(records[0]?.provenance, { failed: stamp });
  });

  it('is summed up like any other', async (t) => {
    const store = openSqliteHistory(oldStore(t, 3), 0o640);
    t.after(() => store.close());
    const query = { since: T0 - DAY, until: T0 + DAY, by: 'owner' } as const;
    const expected = plainSummary([1, 2, 3].map(recordOfForm), query, () => true);
    assert.equal((await store.summary(query)).read, 3);
    assertSameSummary(await store.summary(query), expected);
    await store.rollUp({});
    assert.equal((await store.summary(query)).read, 0);
    assertSameSummary(await store.summary(query), expected);
  });

  it('answers as soon as a writer has opened it', async (t) => {
    const path = oldStore(t, 2);
    assert.throws(() => openSqliteReader(path), /it has schema 2, this qmemacct needs 4/);
    const store = openSqliteStore(path, 0o640);
    t.after(() => store.close());
    const running = await store.running({ since: T0 });
    assert.deepEqual(
      running.map(({ record }) => record.job_id),
      [3],
    );
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

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { TestContext } from 'node:test';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { openSqliteFeed } from '../../../src/accounting/sqlite/read/feed';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { StoreError } from '../../../src/accounting/store-error';
import { SqliteDatabase } from '../../../src/native/sqlite';
import { job, T0 } from '../suite/fixture';
import { feedSuite } from '../suite/feed-suite';
import { filterSuite } from '../suite/filter-suite';
import { largestSuite } from '../suite/largest-suite';
import { pagesSuite } from '../suite/pages-suite';
import { joinSuite } from '../suite/join-suite';
import { taskRequestsSuite } from '../suite/task-requests-suite';
import { mergeSuite } from '../suite/merge-suite';
import { pruneSuite } from '../suite/prune-suite';
import { nodeSuite } from '../suite/node-suite';
import { querySuite } from '../suite/query-suite';
import { tasksSuite } from '../suite/tasks-suite';
import { questionsSuite } from '../suite/questions-suite';
import { rollUpSuite } from '../suite/roll-up-suite';
import { summarySuite } from '../suite/summary-suite';
import { temporaryStore } from '../temporary-store';

function opened(t: TestContext): HistoryStore & { readonly path: string } {
  const path = temporaryStore();
  const store = openSqliteHistory(path, 0o640);
  t.after(() => store.close());
  return { ...store, path };
}

const open = (t: TestContext): Promise<HistoryStore> => Promise.resolve(opened(t));

mergeSuite(open);
nodeSuite(open);
querySuite(open);
largestSuite(open);
tasksSuite(open);
filterSuite(open);
pagesSuite(open);
feedSuite((t) => {
  const store = opened(t);
  const feed = openSqliteFeed(store.path);
  t.after(() => feed.close());
  return Promise.resolve({ store, feed });
});
it('the feed of each store has its own identity', async (t) => {
  const feeds = [openSqliteFeed(opened(t).path), openSqliteFeed(opened(t).path)];
  const identities = await Promise.all(feeds.map((feed) => feed.identity()));
  await Promise.all(feeds.map((feed) => feed.close()));
  assert.equal(new Set(identities).size, 2);
});
joinSuite(open);
taskRequestsSuite(open);
summarySuite(open);
rollUpSuite((t) => {
  const store = opened(t);
  return Promise.resolve({
    store,
    rollUp: (between) => {
      let asked = 0;
      const signal = {
        get aborted() {
          if (++asked === 3) void between();
          return false;
        },
      };
      return store.rollUp({ signal: signal as AbortSignal });
    },
    whileWriting: async (work) => {
      const writer = new SqliteDatabase(store.path);
      t.after(() => writer.close());
      writer.exec('BEGIN IMMEDIATE');
      await work();
    },
  });
});
pruneSuite(open);
questionsSuite((t) => {
  const store = opened(t);
  const db = new SqliteDatabase(store.path, { readonly: true });
  t.after(() => db.close());
  db.pragma('trusted_schema = OFF');
  return Promise.resolve({
    store,
    ask: (sql) => Promise.resolve(db.prepare<[], Record<string, unknown>>(sql).all()),
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

  it('leaves fields empty that were not asked for', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0, { notes: ['One.'], metrics: { major_faults: 3 } })]);
    const [stored] = await store.jobs([1], ['job_id', 'ended_at']);
    const { job_id, ended_at, owner, peak_rss, notes, metrics } = stored?.record ?? {};
    assert.deepEqual([job_id, ended_at], [1, new Date(T0).toISOString()]);
    assert.deepEqual([owner, peak_rss, notes, metrics], [null, null, [], {}]);
  });

  it('reports a stored record that it can not read as damaged', async (t) => {
    const store = opened(t);
    await store.merge([job(1, T0)]);
    const db = new SqliteDatabase(store.path);
    db.prepare("UPDATE record SET granted_hosts = '[{'").run();
    db.close();
    await assert.rejects(store.job({ job_id: 1 }), (error: unknown) => {
      assert.ok(error instanceof StoreError);
      assert.match(error.message, /a stored record .*; .*restore it/);
      assert.equal(error.retry, false);
      return true;
    });
  });
});

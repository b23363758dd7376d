import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { HistoryStore } from '../../../src/accounting/history-store';
import type { RecordFeed } from '../../../src/accounting/record-feed';
import { DAY, job, lineOf, T0 } from './fixture';

/** Opens a new, empty store and its feed. */
export type OpenFeed = (t: TestContext) => Promise<{ readonly store: HistoryStore; readonly feed: RecordFeed }>;

/** The feed of new records, the same in every store. */
export function feedSuite(open: OpenFeed): void {
  describe('the feed', () => {
    it('has every record once, in the order of arrival and without series', async (t) => {
      const { store, feed } = await open(t);
      assert.equal(await feed.newest(), 0);
      const identity = await feed.identity();
      assert.deepEqual(await feed.after(0, 10), []);
      const series = { start: new Date(T0).toISOString(), step_seconds: 10, rss_bytes: [1, 2], others: {} };
      await store.merge([job(3, T0, { series, job_name: 'x\ny' }), job(1, T0 + DAY)]);
      await store.settle({});
      await store.merge([job(2, T0 - DAY)]);
      await store.settle({});
      const [first, ...others] = await feed.after(0, 2);
      assert.deepEqual(first?.record, job(3, T0, { job_name: 'x\ny' }));
      const last = others.at(-1) ?? assert.fail();
      const rest = await feed.after(last.id, 10);
      assert.deepEqual(
        [...others, ...rest].map(({ record }) => record.job_id),
        [1, 2],
      );
      assert.equal(await feed.newest(), rest[0]?.id);
      assert.deepEqual(await feed.after(rest[0]?.id ?? 0, 10), []);
      assert.equal(await feed.identity(), identity);
    });

    it('says which records have ended or are gone, and never reuses an id', async (t) => {
      const { store, feed } = await open(t);
      const ended = job(1, T0);
      const running = job(2, T0, { status: 'running', ended_at: null, revision: T0 });
      const line = lineOf(ended);
      await store.merge([line, running, job(3, T0)]);
      await store.settle({});
      const idsByJob = async (): Promise<ReadonlyMap<number, number>> =>
        new Map((await feed.after(0, 10)).map(({ id, record }) => [record.job_id, id]));
      const before = await idsByJob();
      const ids = [...before.values(), 4711];
      const first = await feed.ended(ids);
      assert.deepEqual(first.records.map(({ record }) => record.job_id).sort(), [1, 3]);
      // PostgreSQL keeps heartbeats in its inbox: the running job may be missing in the feed, but is not gone.
      assert.deepEqual(first.gone, [4711]);
      await store.merge([ended, job(2, T0 + DAY)]);
      await store.settle({});
      const { records } = await feed.ended([...(await idsByJob()).values()]);
      assert.deepEqual(records.map(({ record }) => record.job_id).sort(), [1, 2, 3]);
      const joined = records.find(({ record }) => record.job_id === 1);
      assert.equal(joined?.id, before.get(1));
      assert.deepEqual([joined?.record.run_id, joined?.record.grid_engine?.lines], [ended.run_id, 1]);
      const newest = await feed.newest();
      const all = { records: 1, series: 0, rollups: 0 };
      await store.rollUp({});
      await store.prune(all, T0 + 60 * DAY, {});
      assert.deepEqual(await feed.after(0, 10), []);
      assert.equal(await feed.newest(), newest);
      await store.merge([job(9, T0 + 59.5 * DAY)]);
      await store.settle({});
      const [next] = await feed.after(0, 10);
      assert.ok((next?.id ?? 0) > newest, `${next?.id ?? 0} after ${newest}`);
    });
  });
}

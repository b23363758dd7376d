import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { HistoryStore, Retention } from '../../../src/accounting/history-store';
import { DAY, HOUR, iso, job, T0 } from './fixture';
import type { OpenStore } from './fixture';
import { assertSameSummary } from './summary-suite';

const FOR_EVER: Retention = { records: 0, series: 0, rollups: 0 };

/** Retention, the same in every store. */
export function pruneSuite(open: OpenStore): void {
  describe('prune', () => {
    const now = T0 + 10 * DAY + 5 * HOUR;
    const series = { start: iso(T0), step_seconds: 10, rss_bytes: [1, 2, 3], others: {} };
    const interval = { since: T0, until: T0 + 20 * DAY };
    /** Stores a job a day for ten days. */
    const fill = async (store: HistoryStore): Promise<void> => {
      await store.merge(
        Array.from({ length: 10 }, (_item, day) =>
          job(day + 1, T0 + day * DAY + HOUR, { series, owner: `user${day % 2}` }),
        ),
      );
    };
    const ids = async (store: HistoryStore): Promise<readonly number[]> =>
      (await store.records({ ...interval, limit: 99 })).records.map(({ record }) => record.job_id);

    it('removes nothing if everything is kept for ever', async (t) => {
      const store = await open(t);
      await fill(store);
      assert.deepEqual(await store.prune(FOR_EVER, now, {}), {
        records: 0,
        series: 0,
        rollups: 0,
        freed: 0,
        complete: true,
      });
      assert.equal((await ids(store)).length, 10);
    });

    it('removes the records of whole old days, and keeps their sums', async (t) => {
      const store = await open(t);
      await fill(store);
      await store.rollUp({});
      await store.merge([job(99, T0 + 2 * DAY, { series })]);
      const before = await store.summary({ ...interval, by: 'owner' });
      const pruned = await store.prune({ ...FOR_EVER, records: 4 }, now, {});
      assert.deepEqual([pruned.records, pruned.complete], [7, true]);
      assert.deepEqual(await ids(store), [10, 9, 8, 7]);
      assertSameSummary(await store.summary({ ...interval, by: 'owner' }), before);
      const { totals } = await store.records({ ...interval, limit: 1, fields: ['job_id'] });
      assert.equal(totals.records, before.totals.records);
      assert.equal((await store.job({ job_id: 1 })).records.length, 0);
      assert.deepEqual((await store.job({ job_id: 7 })).records[0]?.record.series, series);
      assert.equal((await store.prune({ ...FOR_EVER, records: 4 }, now, {})).records, 0);
    });

    it('leaves whole UTC days to periods of any time zone', async (t) => {
      const store = await open(t);
      await fill(store);
      await store.prune({ ...FOR_EVER, records: 4 }, now, {});
      for (const ahead of [-8, -2.5, 0, 5.75, 13])
        for (const day of [1, 2, 3, 4]) {
          const since = T0 + day * DAY - ahead * HOUR;
          const { totals, groups } = await store.summary({ since, until: since + DAY, by: 'owner' });
          assert.deepEqual([totals.records, totals.jobs, groups.length], [1, 1, 1], `${ahead} ${day}`);
        }
    });

    it('refuses to work by a clock that is far ahead of the newest record', async (t) => {
      const store = await open(t);
      await fill(store);
      const ahead = T0 + 3660 * DAY;
      const refused = { message: /newest record is of \d{4}-\d\d-\d\d, 3650 days before this host's clock/ };
      for (const rules of [
        { ...FOR_EVER, records: 4 },
        { ...FOR_EVER, series: 4 },
      ])
        await assert.rejects(store.prune(rules, ahead, {}), refused);
      await assert.rejects(store.countOld({ ...FOR_EVER, records: 4 }, ahead), refused);
      assert.equal((await ids(store)).length, 10);
      assert.equal((await store.prune({ ...FOR_EVER, records: 4 }, T0 + 90 * DAY, {})).records, 10);
      assert.equal((await store.prune({ ...FOR_EVER, records: 4 }, ahead, {})).records, 0);
    });

    it('removes as many records as countOld says, self-reported ones included', async (t) => {
      const store = await open(t);
      await fill(store);
      const late = now - 4 * DAY - HOUR;
      await store.merge([job(98, late), job(99, T0 + HOUR, { trust: 'self-reported' })]);
      const rules = { ...FOR_EVER, records: 4 };
      assert.equal(await store.countOld(FOR_EVER, now), 0);
      const old = await store.countOld(rules, now);
      assert.deepEqual([old, (await store.prune(rules, now, {})).records], [7, 7]);
      assert.equal(await store.countOld(rules, now), 0);
    });

    it('leaves the sums of a pruned day unchanged when a late record arrives', async (t) => {
      const store = await open(t);
      await fill(store);
      await store.prune({ ...FOR_EVER, records: 4 }, now, {});
      const before = await store.summary({ ...interval, by: 'day' });
      await store.merge([job(1, T0 + HOUR, { owner: 'user0' }), job(500, T0 + 2 * HOUR, { owner: 'user0' })]);
      await store.rollUp({});
      assertSameSummary(await store.summary({ ...interval, by: 'day' }), before);
      assert.equal((await store.prune({ ...FOR_EVER, records: 4 }, now, {})).records, 2);
    });

    it('counts late records of old days without pruned records', async (t) => {
      const store = await open(t);
      await fill(store);
      await store.rollUp({});
      await store.prune({ ...FOR_EVER, records: 4 }, now, {});
      await store.merge([job(500, T0 - 300 * DAY), job(501, T0 - DAY)]);
      const counted = async (): Promise<number> =>
        (await store.summary({ since: T0 - 400 * DAY, until: now, by: 'owner' })).totals.records;
      assert.equal(await counted(), 12);
      assert.equal(await store.rollUp({}), 2);
      assert.equal(await counted(), 12);
      await store.merge([job(502, T0 - DAY)]);
      assert.equal((await store.prune({ ...FOR_EVER, records: 4 }, now, {})).records, 3);
      assert.equal(await counted(), 13);
    });

    it('removes series and sums at their own ages', async (t) => {
      const store = await open(t);
      await fill(store);
      await store.rollUp({});
      const { series: removed } = await store.prune({ ...FOR_EVER, series: 3 }, now, {});
      assert.equal(removed, 7);
      assert.equal((await store.job({ job_id: 7 })).records[0]?.record.series, null);
      assert.deepEqual((await store.job({ job_id: 8 })).records[0]?.record.series, series);
      assert.equal((await store.prune({ ...FOR_EVER, series: 2 }, now, {})).series, 1);
      // Sums are kept as long as their records.
      assert.equal((await store.prune({ ...FOR_EVER, rollups: 3 }, now, {})).rollups, 0);
      const both = await store.prune({ records: 4, series: 2, rollups: 6 }, now, {});
      assert.ok(both.records === 6 && both.rollups > 0, JSON.stringify(both));
      const { groups } = await store.summary({ ...interval, by: 'day' });
      assert.deepEqual(
        groups.map(({ key }) => key),
        ['05', '06', '07', '08', '09', '10'].map((day) => `2026-11-${day}`),
      );
    });

    it('removes series at their age even if the clock was ahead for a time', async (t) => {
      const store = await open(t);
      await fill(store);
      const rules = { ...FOR_EVER, series: 3 };
      assert.equal((await store.prune(rules, now + 80 * DAY, {})).series, 10);
      await store.merge([job(500, now, { series })]);
      assert.equal((await store.prune(rules, now, {})).series, 0);
      assert.equal((await store.prune(rules, now + 10 * DAY, {})).series, 1);
    });

    it('stops when it is aborted, and the next run goes on', async (t) => {
      const store = await open(t);
      await fill(store);
      const stop = new AbortController();
      const first = await store.prune({ ...FOR_EVER, records: 4 }, now, {
        signal: stop.signal,
        onProgress: () => {
          stop.abort();
        },
      });
      assert.equal(first.complete, false);
      const second = await store.prune({ ...FOR_EVER, records: 4 }, now, {});
      assert.deepEqual([first.records + second.records, second.complete], [6, true]);
      assert.equal((await store.summary({ ...interval, by: 'owner' })).totals.records, 10);
    });
  });
}

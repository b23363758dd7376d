import assert from 'node:assert/strict';
import { describe, it, type TestContext } from 'node:test';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { DAY, HOUR, job, T0 } from './fixture';
import { plainSummary } from './plain-summary';
import { assertSameSummary } from './summary-suite';

/** Opens a store; `rollUp` calls `between` before the third month or year that it sums up. */
export type OpenRollUps = (t: TestContext) => Promise<{
  readonly store: HistoryStore;
  readonly rollUp: (between: () => Promise<unknown>) => Promise<unknown>;
  /** Does `work` while another connection has an open write transaction. */
  readonly whileWriting: (work: () => Promise<unknown>) => Promise<unknown>;
}>;

/** Rolls up days, but neither months nor years. */
async function rollUpDays(store: HistoryStore): Promise<unknown> {
  const stop = new AbortController();
  return store.rollUp({
    signal: stop.signal,
    onProgress: (done, of) => {
      if (done === of) stop.abort();
    },
  });
}

/** Several roll-ups at once, the same in every store. */
export function rollUpSuite(open: OpenRollUps): void {
  describe('roll-up', () => {
    it('leaves no month out of a year if another process rolls up a day of it at the same time', async (t) => {
      const { store, rollUp } = await open(t);
      const late = job(9, T0 + 2 * DAY, { owner: 'eve' });
      const records = [T0 + HOUR, T0 + 40 * DAY, T0 + 70 * DAY].map((at, index) => job(index + 1, at));
      await store.merge(records);
      await rollUpDays(store);
      let other: Promise<unknown> = Promise.resolve();
      // The third period, after November and December, is the year.
      await rollUp(() => (other = Promise.all([store.merge([late]), rollUpDays(store)])));
      await other;
      await store.rollUp({});
      const query = { since: Date.UTC(2026, 0), until: Date.UTC(2027, 2), by: 'owner' } as const;
      assertSameSummary(
        await store.summary(query),
        plainSummary([...records, late], query, () => true),
      );
    });

    it('does not wait for a writer if there is nothing to roll up', { timeout: 60_000 }, async (t) => {
      const { store, rollUp, whileWriting } = await open(t);
      await store.merge([job(1, T0)]);
      await store.rollUp({});
      await whileWriting(async () => assert.equal(await rollUp(() => Promise.resolve()), 0));
    });
  });
}

import assert from 'node:assert/strict';
import { copyFileSync, statSync } from 'node:fs';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import type { HistoryStore } from '../../../src/accounting/history-store';
import { realisticRecords } from '../realistic-record';
import { DAY, job, T0 } from '../suite/fixture';
import { temporaryStore } from '../temporary-store';

const RULES = { records: 30, series: 0, rollups: 0 };
/** All realistic records are older than RULES allow. */
const NOW = Date.UTC(2026, 2, 1);

/**
 * Stores 10,000 records, of users with one project each, as most have: else the sums of two days would be as large as
 * their records. Returns the path.
 */
async function fill(): Promise<string> {
  const path = temporaryStore();
  const store = openSqliteHistory(path, 0o640);
  const { next } = realisticRecords();
  for (let batch = 0; batch < 10; batch++)
    await store.merge(Array.from({ length: 1000 }, () => ({ ...next(), project: 'physics' })));
  await store.close();
  return path;
}

let original: Promise<string> | null = null;

/** Opens a copy of a filled store. */
async function filled(t: TestContext, path: string): Promise<HistoryStore> {
  copyFileSync(await (original ??= fill()), path);
  const store = openSqliteHistory(path, 0o640);
  t.after(() => store.close());
  return store;
}

it('prune gives the space of removed records back to the file system', async (t) => {
  const path = temporaryStore();
  const store = await filled(t, path);
  const before = statSync(path).size;
  const seen: number[] = [];
  const pruned = await store.prune(RULES, NOW, { onProgress: (done, of) => seen.push(done / of) });
  assert.deepEqual([pruned.records, pruned.complete], [10_000, true]);
  const after = statSync(path).size;
  // The sums of the days were added first.
  assert.ok(after < before * 0.55 && pruned.freed >= before - after, `${before} ${after} ${pruned.freed}`);
  assert.equal(seen.at(-1), 1);
});

it('prune keeps the sums, also in a query with self-reported records', async (t) => {
  const store = await filled(t, temporaryStore());
  const all = { since: T0 - 3000 * DAY, until: T0 + DAY, by: 'cluster', self_reported: true } as const;
  const before = await store.summary(all);
  await store.prune(RULES, NOW, {});
  const { totals } = await store.summary(all);
  assert.ok(totals.records > 0);
  assert.equal(totals.records, before.totals.records);
});

it('prune lets deliveries through while it works', async (t) => {
  const path = temporaryStore();
  const store = await filled(t, path);
  const other = openSqliteHistory(path, 0o640);
  t.after(() => other.close());
  const work = store.prune(RULES, NOW, {});
  let delivered = 0;
  const deliveries = (async () => {
    for (; delivered < 3; delivered++) await other.merge([job(9_000_000 + delivered, T0)]);
  })();
  assert.equal((await work).complete, true);
  await deliveries;
  assert.equal((await store.records({ since: T0, until: T0 + DAY })).totals.records, 3);
});

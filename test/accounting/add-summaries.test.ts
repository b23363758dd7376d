import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { addSummaries, chooseGroups, sumTotals, NO_SUMMARY, NO_TOTALS } from '../../src/accounting/add-summaries';
import { MANY_OWNERS } from '../report/many-owners';
import { memoryReader } from './memory-reader';

const ALWAYS = { since: 0, until: Date.UTC(2030, 0) };

describe('addSummaries', () => {
  it('adds two summaries group by group, and subtracts one again', async () => {
    const halves = [MANY_OWNERS.slice(0, 9), MANY_OWNERS.slice(9)].map((records) => memoryReader(records));
    for (const by of ['owner', 'project', 'host', 'day'] as const) {
      const [a = NO_SUMMARY, b = NO_SUMMARY] = await Promise.all(halves.map((half) => half.summary({ ...ALWAYS, by })));
      const all = await memoryReader(MANY_OWNERS).summary({ ...ALWAYS, by });
      const close = (x: number, y: number): void => assert.ok(Math.abs(x - y) < 1e-9, `${x} ${y}`);
      const both = chooseGroups(addSummaries(a, b), { by });
      assert.deepEqual(
        both.groups.map(({ key, totals }) => [key, totals.records, totals.failed]),
        all.groups.map(({ key, totals }) => [key, totals.records, totals.failed]),
      );
      close(both.totals.used_gib_hours, all.totals.used_gib_hours);
      assert.deepEqual(both.shares, all.shares);
      const rest = chooseGroups(addSummaries(both, b, -1), { by });
      assert.deepEqual(
        rest.groups.map(({ key, totals }) => [key, totals.records]),
        a.groups.map(({ key, totals }) => [key, totals.records]),
      );
      close(rest.totals.used_gib_hours, a.totals.used_gib_hours);
    }
  });
});

describe('sumTotals', () => {
  it('is zero where everything is subtracted, and never negative', () => {
    const some = { ...NO_TOTALS, records: 3, used_gib_hours: 0.1 + 0.2 };
    assert.deepEqual(sumTotals(some, { ...some, used_gib_hours: 0.3 }, -1), NO_TOTALS);
    assert.deepEqual(sumTotals(NO_TOTALS, some), some);
  });
});

describe('chooseGroups', () => {
  it('puts the largest groups first, but keeps the last days, in order', () => {
    const group = (key: string | null, jobs: number): (typeof NO_SUMMARY.groups)[number] => ({
      key,
      totals: { ...NO_TOTALS, jobs },
    });
    const answer = { ...NO_SUMMARY, groups: [group('b', 1), group('a', 1), group(null, 5)] };
    const keys = (query: Parameters<typeof chooseGroups>[1]): unknown =>
      chooseGroups(answer, query).groups.map(({ key }) => key);
    assert.deepEqual(keys({ by: 'day' }), ['a', 'b', null]);
    assert.deepEqual(keys({ by: 'owner', sort: 'jobs', limit: 2 }), [null, 'a']);
    const days = { ...NO_SUMMARY, groups: [group('2026-11-02', 1), group('2026-11-01', 1), group('2026-11-03', 1)] };
    const last = chooseGroups(days, { by: 'day', limit: 2 }).groups.map(({ key }) => key);
    assert.deepEqual(last, ['2026-11-02', '2026-11-03']);
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { createWords } from '../../../../src/accounting/sqlite/database/dictionary';
import { conditionOf } from '../../../../src/accounting/sqlite/read/record-filter';
import { daysOfKey } from '../../../../src/accounting/sqlite/read/spans';
import { openSqliteHistory } from '../../../../src/accounting/sqlite/sqlite-history';
import { inSpans } from '../../../../src/accounting/sums/periods';
import { SqliteDatabase } from '../../../../src/native/sqlite';
import { recordOf } from '../../../support/records';
import { temporaryDirectory } from '../../../support/temporary-directory';

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 10, 20);

it('inSpans joins adjoining spans and leaves out empty ones', () => {
  const span = (since: number, until: number): { since: number; until: number } => ({ since, until });
  assert.deepEqual(inSpans([span(0, 5), span(5, 5), span(5, 7), span(9, 8), span(9, 12), span(13, 14)]), [
    span(0, 7),
    span(9, 12),
    span(13, 14),
  ]);
  assert.deepEqual(inSpans([]), []);
});

it('daysOfKey gives the days with such jobs and those that are not rolled up', async (t) => {
  const path = join(temporaryDirectory(), 'a.db');
  const store = openSqliteHistory(path, 0o600);
  t.after(() => store.close());
  let number = 0;
  const merge = (at: number, ...jobs: readonly (readonly [owner: string, name: string])[]): Promise<unknown> =>
    store.merge(
      jobs.map(([owner, job_name]) =>
        recordOf({
          job_id: ++number,
          owner,
          job_name,
          run_id: `0badcafe.${number}.1`,
          ended_at: new Date(at).toISOString(),
        }),
      ),
    );
  const day = (before: number): number => TODAY - before * DAY;
  await merge(day(90), ['bob', 'sim_7'], ['bob', 'rare'], ['eve', 'x'.repeat(2000)]);
  for (const before of [89, 40, 30]) await merge(day(before), ['bob', `sim_${before}`], ['ann', 'rare']);
  await merge(day(30), ['bob', 'a[1]']);
  await merge(day(20), ...Array.from({ length: 101 }, (_kind, index) => ['zoe', 'k'.repeat(index + 1)] as const));
  await store.rollUp({});
  await merge(TODAY + 1, ['bob', 'today']);
  const db = new SqliteDatabase(path, { readonly: true });
  t.after(() => db.close());
  const whole = { since: day(100), until: TODAY + DAY };
  const spansOf = (owner: string | null, job_name: string): readonly unknown[] => {
    const filter = { ...whole, ...(owner === null ? {} : { owner }), job_name };
    return [...daysOfKey(db, conditionOf(filter, createWords(db)) ?? assert.fail(), whole)];
  };
  const from = (since: number, days = 1): unknown => ({ since, until: since + days * DAY });
  const today = from(TODAY);
  assert.deepEqual(spansOf('bob', 'new*'), [today]);
  assert.deepEqual(spansOf('ann', 'sim_*'), [today]);
  assert.deepEqual(spansOf('bob', 'rare'), [today, from(day(90))]);
  for (const name of ['sim_*', 'sim_7', 's?m*'])
    assert.deepEqual(spansOf('bob', name), [today, from(day(30)), from(day(40)), from(day(90), 2)], name);
  for (const name of ['a[1]', 'a[*']) assert.deepEqual(spansOf('bob', name), [today, from(day(30))], name);
  // A key that was cut may match any name; with very many kinds of jobs each day may have some.
  assert.deepEqual(spansOf('eve', 'new*'), [today, from(day(90))]);
  assert.deepEqual(spansOf('zoe', 'k*'), [whole]);
  assert.deepEqual(spansOf(null, 'rar?'), [today, from(day(30)), from(day(40)), from(day(90), 2)]);
  assert.deepEqual(spansOf(null, 'a[[]*'), [today, from(day(90))]);
  assert.deepEqual(spansOf(null, '*'), [whole]);
  const found = async (owner: string, job_name: string, limit = 50): Promise<readonly unknown[]> => {
    const { records } = await store.records({ ...whole, owner, job_name, limit, totals: false });
    return records.map(({ record }) => record.job_name);
  };
  assert.deepEqual(await found('bob', 'sim_*', 3), ['sim_30', 'sim_40', 'sim_89']);
  assert.deepEqual(await found('bob', '*'), ['today', 'a[1]', 'sim_30', 'sim_40', 'sim_89', 'rare', 'sim_7']);
  assert.deepEqual(await found('bob', 'new*'), []);
  // Days without records are not visited: there may be millions.
  const ever = { since: -8.64e15, until: 8.64e15 };
  const condition = conditionOf({ ...ever, owner: 'bob', job_name: 'rare' }, createWords(db)) ?? assert.fail();
  assert.deepEqual([...daysOfKey(db, condition, ever)], [today, from(day(90))]);
});

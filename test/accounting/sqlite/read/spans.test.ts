import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import Database from 'better-sqlite3';
import { createWords } from '../../../../src/accounting/sqlite/database/dictionary';
import { conditionOf } from '../../../../src/accounting/sqlite/read/record-filter';
import { daysOfKey, inSpans } from '../../../../src/accounting/sqlite/read/spans';
import { openSqliteHistory } from '../../../../src/accounting/sqlite/sqlite-history';
import { recordOf } from '../../../support/records';
import { temporaryDirectory } from '../../../support/temporary-directory';

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 10, 20);

it('joins parts that touch and leaves out the empty ones', () => {
  const span = (since: number, until: number): { since: number; until: number } => ({ since, until });
  assert.deepEqual(inSpans([span(0, 5), span(5, 5), span(5, 7), span(9, 8), span(9, 12), span(13, 14)]), [
    span(0, 7),
    span(9, 12),
    span(13, 14),
  ]);
  assert.deepEqual(inSpans([]), []);
});

it('looks for a kind of jobs that a user has not had on the days alone that are not summed up', async (t) => {
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
  await merge(TODAY - 30 * DAY, ['bob', 'sim_7'], ['bob', 'a[1]'], ['eve', 'x'.repeat(2000)], ['ann', 'fit']);
  await store.rollUp({});
  await merge(TODAY + 1, ['bob', 'today']);
  const db = new Database(path, { readonly: true });
  t.after(() => db.close());
  const whole = { since: TODAY - 100 * DAY, until: TODAY + DAY };
  const spansOf = (owner: string, job_name: string): readonly unknown[] =>
    daysOfKey(db, conditionOf({ ...whole, owner, job_name }, createWords(db)) ?? assert.fail(), whole);
  const unknown = [{ since: TODAY, until: TODAY + DAY }];
  assert.deepEqual(spansOf('bob', 'new*'), unknown);
  assert.deepEqual(spansOf('ann', 'sim_*'), unknown);
  for (const name of ['sim_*', 'sim_7', 's?m*', 'a[1]', 'a[*']) assert.deepEqual(spansOf('bob', name), [whole], name);
  // A key that was cut may be of any kind.
  assert.deepEqual(spansOf('eve', 'new*'), [whole]);
  const found = async (owner: string, job_name: string): Promise<number> =>
    (await store.records({ ...whole, owner, job_name, totals: false })).records.length;
  assert.deepEqual(await Promise.all(['sim_*', 'new*', 'tod*', '*'].map((name) => found('bob', name))), [1, 0, 1, 3]);
});

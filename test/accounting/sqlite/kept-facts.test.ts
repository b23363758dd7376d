import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { DIMENSIONS } from '../../../src/accounting/summary';
import type { JobRecord } from '../../../src/record/record';
import { recordOf } from '../../support/records';
import { temporaryDirectory } from '../../support/temporary-directory';

const DAY = 86_400_000;
const TODAY = Date.UTC(2026, 10, 20);
const NOON = TODAY + DAY / 2;

const job = (number: number, owner: string): JobRecord =>
  recordOf({ job_id: number, owner, run_id: `0badcafe.${number}.1`, ended_at: new Date(NOON).toISOString() });

/** Of today, whose records are read, after its totals alone, with a week of days before it that need not be. */
async function owners(reader: AccountingReader): Promise<readonly (readonly [string | null, number])[]> {
  const interval = { since: TODAY - 7 * DAY, until: NOON + 1000 };
  await reader.records(interval);
  for (const by of [...DIMENSIONS, 'day', 'cluster'] as const) await reader.summary({ ...interval, by });
  const { groups } = await reader.summary({ ...interval, by: 'owner' });
  return groups.map(({ key, totals }) => [key, totals.records] as const);
}

it('sums of what was read before are those of the store as it is, whoever has written to it', async (t) => {
  const path = join(temporaryDirectory(), 'a.db');
  const writer = openSqliteHistory(path, 0o600);
  t.after(() => writer.close());
  await writer.merge([job(1, 'alice'), job(2, 'bob')]);
  const reader = openSqliteReader(path);
  t.after(() => reader.close());
  for (const one of [reader, writer]) {
    assert.deepEqual(await owners(one), [
      ['alice', 1],
      ['bob', 1],
    ]);
  }
  await writer.merge([job(3, 'bob')]);
  for (const one of [reader, writer]) {
    assert.deepEqual(await owners(one), [
      ['alice', 1],
      ['bob', 2],
    ]);
  }
  const alone = await reader.summary({ since: TODAY - 7 * DAY, until: NOON + 1000, by: 'owner', owner: 'bob' });
  assert.equal(alone.totals.records, 2);
});

import assert from 'node:assert/strict';
import { statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { sqliteGrowth } from '../../../src/accounting/sqlite/growth';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { checkSize } from '../../../src/cli/doctor/check-size';
import { ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';

const DAY_MS = 86_400_000;
const MIB = 2 ** 20;

describe('the size of the accounting DB', () => {
  it('is that of its file, and grows each day by the size of the records of a day', async () => {
    const path = join(temporaryDirectory(), 'accounting.db');
    const now = Date.parse('2026-06-30T00:00:00Z');
    const store = openSqliteStore(path, 0o600);
    const records = Array.from({ length: 560 }, (_, index) => {
      const end = new Date(now - ((index % 56) + 0.5) * DAY_MS).toISOString();
      return { ...ordinary, job_id: index + 1, started_at: end, ended_at: end };
    });
    await store.merge(records);
    await store.close();
    const growth = sqliteGrowth(path, now);
    assert.equal(growth.bytes, statSync(path).size);
    // 10 of 560 records a day.
    const expected = (growth.bytes - growth.spare_bytes) / 56;
    assert.ok(Math.abs((growth.bytes_a_day ?? 0) - expected) < expected / 100, `${growth.bytes_a_day} ${expected}`);
    assert.equal(sqliteGrowth(path, Date.parse(records[55]?.ended_at ?? '') + DAY_MS / 2).bytes_a_day, null);
  });

  const size = { bytes: 100 * MIB, spare_bytes: 0, bytes_a_day: MIB, free: 1000 * MIB };
  const now = new Date(2026, 0, 1, 12);
  const found = (more: Partial<typeof size>): string => {
    const { severity, says } = checkSize({ ...size, ...more }, now);
    return `${severity}: ${says}`;
  };

  it('is shown with the day when its disk will be full', () => {
    assert.match(
      found({}),
      /^ok: 100 MiB, and 0\.977 GiB are free .*; it grows by 1\.00 MiB a day: full on 2028-09-27$/,
    );
    assert.match(found({ free: 31 * MIB }), /^warning: .*full on 2026-02-01$/);
    assert.match(found({ free: 5 * MIB }), /^problem: .*full on 2026-01-06$/);
    assert.match(found({ free: 5 * MIB, spare_bytes: 400 * MIB }), /^ok: .*full on 2027-02-10$/);
    assert.match(found({ bytes_a_day: 0 }), /^ok: .*enough for more than ten years$/);
  });

  it('is a problem where almost nothing is free, however slowly the DB grows', () => {
    for (const daily of [null, 0, MIB]) {
      const { severity, says, fix } = checkSize({ ...size, bytes_a_day: daily, free: 0, spare_bytes: 400 * MIB }, now);
      assert.deepEqual(
        [severity, says],
        ['problem', "100 MiB, and 0 B are free on its disk: records can't be delivered"],
      );
      assert.match(fix ?? '', /^make room/);
    }
  });

  it('is shown without that day while its growth is not known', () => {
    const { severity, says } = checkSize({ ...size, bytes_a_day: null }, now);
    assert.equal(severity, 'ok');
    assert.match(says, /how fast it grows is known after a day$/);
  });
});

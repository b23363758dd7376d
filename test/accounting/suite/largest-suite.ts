import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import { DEFAULT_LIMIT, figuresOf, SORTS, AMOUNT_SORTS } from '../../../src/accounting/sorts';
import type { RecordsQuery } from '../../../src/accounting/store';
import { countedAt } from '../../../src/record/facts';
import type { JobRecord } from '../../../src/record/record';
import { often } from '../../support/thorough';
import { DAY, GIB, iso, job, peakOf, T0, type OpenStore } from './fixture';

const BATCH = 1000;
/** Lists are kept only of days with 2000 records or more: of the second day there is none. */
const RECORDS_OF_DAYS = [2200, 300, 2200] as const;
const DAYS = RECORDS_OF_DAYS.length;

/** Records with few different amounts, some unknown; no two count at the same moment. */
function manyOn(day: number, count: number, firstJob: number): readonly JobRecord[] {
  return Array.from({ length: count }, (_, index) => {
    const number = firstJob + index;
    const mixed = (number * 2_654_435_761) % 2 ** 32;
    const wallclock = 1 + (mixed % 50);
    const end = T0 + day * DAY + Math.floor(((index + 0.5) * DAY) / count);
    return job(number, end, {
      started_at: iso(end - wallclock * 1000),
      wallclock_seconds: wallclock,
      cpu_seconds: mixed % 7 === 0 ? null : (mixed >>> 3) % 40,
      owner: index % 20 === 0 ? 'eve' : 'bob',
      queue: index % 10 === 0 ? 'long.q' : 'all.q',
      exit_status: number % 3 === 0 ? 1 : 0,
      peak_rss: mixed % 5 === 0 ? null : peakOf(GIB * (1 + ((mixed >>> 5) % 400))),
      grid_engine: null,
    });
  });
}

function expectedJobs(records: readonly JobRecord[], query: RecordsQuery): readonly number[] {
  const { sort = 'time', limit = DEFAULT_LIMIT, since, until, owner, queue, failed } = query;
  const amountOf = (record: JobRecord): number =>
    sort === 'time' ? 0 : (SORTS[sort].amount(figuresOf(record)) ?? -Infinity);
  return records
    .filter((record) => countedAt(record) >= since && countedAt(record) < until)
    .filter((record) => owner === undefined || record.owner === owner)
    .filter((record) => queue === undefined || record.queue === queue)
    .filter((record) => failed === undefined || ((record.exit_status ?? 0) !== 0) === failed)
    .map((record) => ({ id: record.job_id, amount: amountOf(record), at: countedAt(record) }))
    .sort((a, b) => Number(b.amount > a.amount) - Number(b.amount < a.amount) || b.at - a.at)
    .slice(0, limit)
    .map(({ id }) => id);
}

const FILTERS = [{}, { owner: 'bob' }, { queue: 'long.q' }, { failed: true }] as const;

/** So many of the filters are checked after each change, in turn. */
const FILTERS_PER_CHECK = often(1, FILTERS.length);

/** Lists sorted by an amount, over days with thousands of records; the same in every store. */
export function largestSuite(open: OpenStore): void {
  describe('lists sorted by an amount', () => {
    it('rank all records, before and after their days are rolled up and changed', async (t) => {
      const store = await open(t);
      const records = RECORDS_OF_DAYS.flatMap((count, day) => manyOn(day, count, 1 + day * 10_000));
      const put = async (some: readonly JobRecord[]): Promise<void> => {
        for (let at = 0; at < some.length; at += BATCH) await store.merge(some.slice(at, at + BATCH));
      };
      const whole = { since: T0, until: T0 + DAYS * DAY };
      let checks = 0;
      const check = async (): Promise<void> => {
        const first = checks++;
        const filters = FILTERS.map((_, index) => FILTERS[(first + index) % FILTERS.length]).slice(
          0,
          FILTERS_PER_CHECK,
        );
        for (const filter of filters)
          for (const sort of AMOUNT_SORTS)
            for (const [interval, limit] of [
              [whole, 20],
              [{ since: T0 + DAY / 2, until: whole.until - DAY / 3 }, undefined],
              [whole, 150],
              [whole, 400],
            ] as const) {
              const query = { ...interval, ...filter, sort, ...(limit === undefined ? {} : { limit }) };
              const { records: found } = await store.records({ ...query, totals: false });
              assert.deepEqual(
                found.map(({ record }) => record.job_id),
                expectedJobs(records, query),
                JSON.stringify(query),
              );
            }
      };
      await put(records);
      await check();
      await store.rollUp({});
      await check();
      const huge = { peak_rss: peakOf(2 ** 50), cpu_seconds: 1e6 };
      const handedIn = job(900_001, T0 + DAY / 4, { ...huge, trust: 'self-reported', run_id: '0badcafe.1.1.u1000' });
      const late = job(900_002, T0 + DAY * 2.5 + 1, huge);
      records.push(handedIn, late);
      await put([handedIn, late]);
      await check();
      await store.rollUp({});
      await check();
      const tomorrow = T0 + DAYS * DAY;
      await store.prune({ records: 1, series: 0, rollups: 0 }, tomorrow + DAY / 2, {});
      const kept = records.filter((record) => countedAt(record) >= tomorrow - DAY);
      assert.ok(kept.length > RECORDS_OF_DAYS[2]);
      records.splice(0, records.length, ...kept);
      await check();
    });
  });
}

import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import { asStored, mergeRecords } from '../../../src/record/merge';
import { arbitraryRecord } from '../arbitrary-record';
import { iso, job, T0 } from './fixture';
import type { OpenStore } from './fixture';

/** Merging of delivered records, the same in every store. */
export function mergeSuite(open: OpenStore, numRuns = 150): void {
  describe('merge', () => {
    it('stores every record unchanged', async (t) => {
      const store = await open(t);
      const earlier = new Set<number>();
      await fc.assert(
        fc.asyncProperty(fc.array(arbitraryRecord(), { minLength: 1, maxLength: 10 }), async (records) => {
          const outcomes = await store.merge(records);
          assert.ok(outcomes.every(({ ok }) => ok));
          for (const record of records) {
            const { records: found } = await store.job({ job_id: record.job_id, all: true });
            const same = found.filter(
              ({ record: other }) => other.run_id === record.run_id && other.host === record.host,
            );
            // Records with one key are merged, and a slave task takes requests from the master of its job.
            const isAlone = records.filter(({ job_id }) => job_id === record.job_id).length === 1;
            if (same.length === 1 && isAlone && !earlier.has(record.job_id))
              assert.deepEqual(same[0]?.record, asStored(record).record);
          }
          for (const record of records) earlier.add(record.job_id);
        }),
        { numRuns, endOnFailure: true },
      );
    });

    it('stores what mergeRecords gives, provenance included', async (t) => {
      const store = await open(t);
      let id = 0;
      await fc.assert(
        fc.asyncProperty(fc.array(arbitraryRecord({ keys: 1 }), { minLength: 2, maxLength: 5 }), async (made) => {
          id++;
          const records = made.map((record) => ({ ...record, job_id: id }));
          for (const record of records) await store.merge([record]);
          const expected = records.map(asStored).reduce((a, b) => mergeRecords(a, b));
          const { records: found } = await store.job({ job_id: id, all: true });
          assert.equal(found.length, 1);
          const { record, ended, provenance } = found[0] ?? assert.fail();
          assert.deepEqual({ record, ended, provenance }, expected);
          assert.deepEqual(
            await store.merge(records),
            records.map(() => ({ ok: true, change: 'unchanged' })),
          );
        }),
        { numRuns, endOnFailure: true },
      );
    });

    it('says which records were added, changed or unchanged', async (t) => {
      const store = await open(t);
      const record = job(1, T0);
      const later = { ...record, revision: T0 + 1, cpu_seconds: 1801 };
      assert.deepEqual(await store.merge([record, record, later]), [
        { ok: true, change: 'added' },
        { ok: true, change: 'unchanged' },
        { ok: true, change: 'changed' },
      ]);
    });

    it('refuses a record that it can not store, and stores the others', async (t) => {
      const store = await open(t);
      const bad = { ...job(2, T0), job_name: 'never seen before', started_at: 'yesterday' };
      const outcomes = await store.merge([job(1, T0), bad, { ...job(3, T0), job_name: 'never seen before' }]);
      assert.deepEqual(
        outcomes.map(({ ok }) => ok),
        [true, false, true],
      );
      assert.equal((await store.job({ job_id: 2 })).records.length, 0);
      assert.equal((await store.job({ job_id: 3 })).records[0]?.record.job_name, 'never seen before');
    });

    it('keeps the series if the next revision has none, and else replaces it', async (t) => {
      const store = await open(t);
      const series = { start: iso(T0), step_seconds: 10, rss_bytes: [4096, 0, 8192, 1], others: {} };
      await store.merge([{ ...job(1, T0), series }]);
      await store.merge([{ ...job(1, T0), revision: T0 + 1 }]);
      assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record.series, series);
      const longer = { ...series, rss_bytes: [...series.rss_bytes, 5] };
      await store.merge([{ ...job(1, T0), revision: T0 + 2, series: longer }]);
      assert.deepEqual((await store.job({ job_id: 1 })).records[0]?.record.series, longer);
    });
  });
}

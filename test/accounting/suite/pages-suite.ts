import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import fc from 'fast-check';
import type { AccountingReader, PagesQuery } from '../../../src/accounting/store';
import { PLAIN_COLUMNS, tableColumns, type TableColumn, type TableValue } from '../../../src/record/plain-columns';
import type { JobRecord } from '../../../src/record/record';
import { arbitraryRecord } from '../arbitrary-record';
import { DAY, GIB, iso, job, T0 } from './fixture';
import type { OpenStore } from './fixture';

const EVER = { since: 0, until: Number.MAX_SAFE_INTEGER };
const SOME = ['job_id', 'notes', 'peak_rss_open', 'request_limit_bytes', 'cpu_efficiency'];
const ALL = { since: 0, until: T0 + 9 * DAY };

export async function readPages(reader: AccountingReader, query: PagesQuery): Promise<readonly JobRecord[]> {
  const found: JobRecord[] = [];
  for await (const { records, of } of reader.pages(query)) {
    for (const { record } of records) found.push(record);
    assert.ok(of >= found.length);
  }
  return found;
}

/** More than two pages of records, unsorted. */
const MANY = Array.from({ length: 1100 }, (_item, index) => job(index + 1, T0 + ((index * 997) % 1100) * 1000));

/** Reading page by page, the same in every store. */
export function pagesSuite(open: OpenStore): void {
  describe('pages', () => {
    it('have every record that the filter selects, newest first', async (t) => {
      const store = await open(t);
      await store.merge([...MANY.map((record, index) => ({ ...record, owner: index % 3 === 0 ? 'eve' : 'bob' }))]);
      for (const rolled of [false, true]) {
        if (rolled) await store.rollUp({});
        const all = await readPages(store, ALL);
        const times = MANY.map(({ ended_at: time }) => time);
        assert.deepEqual(
          all.map(({ ended_at: time }) => time),
          times.toSorted().reverse(),
        );
        const expected = (await store.records({ ...ALL, limit: 5000 })).records.map(({ record }) => record);
        assert.deepEqual(all, expected);
        const [eves] = [await readPages(store, { ...ALL, owner: 'eve', host: 'node1', since: T0 + 500_000 })];
        assert.deepEqual(
          eves,
          expected.filter((r) => r.owner === 'eve' && Date.parse(r.ended_at ?? '') >= T0 + 500_000),
        );
        assert.deepEqual(await readPages(store, { ...ALL, owner: 'nobody' }), []);
      }
    });

    it('have the series only if it is among the fields asked for, and then only those fields', async (t) => {
      const store = await open(t);
      const series = { start: iso(T0), step_seconds: 1, rss_bytes: [GIB, 2 * GIB], others: {} };
      await store.merge([job(1, T0, { series }), job(2, T0)]);
      const some = await readPages(store, { ...ALL, fields: ['job_id', 'host', 'series'] });
      assert.deepEqual(
        some.map((record) => [record.job_id, record.host, record.series]),
        [
          [2, 'node1', null],
          [1, 'node1', series],
        ],
      );
      const [, first] = await readPages(store, ALL);
      assert.deepEqual([first?.job_id, first?.series, first?.owner], [1, null, 'bob']);
    });

    it('have the same values as the columns of tables', async (t) => {
      const store = await open(t);
      const records = fc.sample(arbitraryRecord(), { numRuns: 200, seed: 7 });
      const lines = records.slice(0, 50).map((record) => ({ ...record, trust: 'accounting' as const }));
      await store.merge([...records, ...lines, ...MANY]);
      for (const columns of [PLAIN_COLUMNS, PLAIN_COLUMNS.filter(({ name }) => SOME.includes(name)).reverse()]) {
        const expected = tableColumns(columns, await readPages(store, EVER));
        const found: TableValue[][] = columns.map(() => []);
        const { tables } = store;
        assert.ok(tables !== undefined);
        const { waiting, ids } = await tables.select(EVER);
        const add = (values: readonly TableColumn[]): void =>
          values.forEach((column, index) => found[index]?.push(...column));
        add(
          tableColumns(
            columns,
            waiting.map(({ record }) => record),
          ),
        );
        let read = 0;
        for await (const page of tables.read(ids, columns)) {
          read += page.rows;
          add(page.columns);
        }
        assert.equal(read, ids.length);
        assert.ok(read + waiting.length > MANY.length);
        for (const [index, { name }] of columns.entries()) assert.deepEqual(found[index], expected[index], name);
      }
    });

    it('have each record once while records arrive and change', async (t) => {
      const store = await open(t);
      const runs = job(9000, T0 + 10_000, { status: 'running', ended_at: null, exit_status: null });
      await store.merge([...MANY, runs]);
      const found: JobRecord[] = [];
      let page = 0;
      for await (const { records } of store.pages(ALL)) {
        for (const { record } of records) found.push(record);
        page += 1;
        if (page > 1) continue;
        // The running job gets an end before the pages read so far; another record arrives among those not read yet.
        await store.merge([
          { ...job(9000, T0 + 5 * DAY), revision: T0 + 5 * DAY },
          job(9001, T0 + 100_500),
          job(9002, T0 + 6 * DAY),
        ]);
      }
      assert.ok(page > 2);
      const ids = found.map(({ job_id: id }) => id).sort((a, b) => a - b);
      assert.deepEqual(ids, [...MANY.map(({ job_id: id }) => id), 9000]);
      assert.equal(found.find(({ job_id: id }) => id === 9000)?.status, 'finished');
    });
  });
}

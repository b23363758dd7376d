import assert from 'node:assert/strict';
import { describe, it } from 'node:test';
import type { AccountingReader, RecordsQuery } from '../../../src/accounting/store';
import { findJobLines, findJobSums } from '../../../src/cli/records/find-lines';
import type { JobRecord } from '../../../src/record/record';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { LIST_FIELDS } from '../../../src/report/records/list';
import { temporaryStore } from '../../accounting/temporary-store';
import { memoryReader } from '../../accounting/memory-reader';
import { arrayOfTwenty, ordinary } from '../../report/sample-records';

const END = Date.parse('2026-11-20T15:00:00Z');
const endedAt = (secondsBefore: number): string => new Date(END - secondsBefore * 1000).toISOString();
const [task] = arrayOfTwenty;
assert.ok(task !== undefined);

/** 60 single jobs among the newest 500 records, and an array of 3000 tasks, every tenth of which failed. */
const single = Array.from({ length: 60 }, (_, index): JobRecord => {
  return { ...ordinary, job_id: 5000 + index, run_id: `s.${index}.1`, ended_at: endedAt(index) };
});
const array = Array.from({ length: 3000 }, (_, index): JobRecord => {
  const number = index + 1;
  const exit = number % 10 === 0 ? 1 : 0;
  const own = {
    task_id: number,
    run_id: `a.${number}.1`,
    ended_at: endedAt(index + 0.5),
    exit_status: exit,
    signal: null,
  };
  return { ...task, ...own };
});
const other = {
  ...ordinary,
  job_id: task.job_id,
  owner: 'other',
  submitted_at: '2026-01-01T00:00:00Z',
  run_id: 'o.1.1',
};

const ARRAY = `${task.job_id} bob`;

const asked: RecordsQuery[] = [];
const stored = memoryReader([...single, ...array, other]);
const reader: AccountingReader = {
  ...stored,
  records: (query) => {
    asked.push(query);
    return stored.records(query);
  },
};
const QUERY = { since: 0, until: END + 1, limit: 200_000 };

async function sizes(query: Omit<Partial<RecordsQuery>, 'limit'>, most: number): Promise<ReadonlyMap<string, number>> {
  asked.length = 0;
  const { lines } = await findJobLines({ ...QUERY, ...query }, most, [reader]);
  assert.ok(lines.length <= most);
  return new Map(lines.map((line) => [`${line[0].job_id} ${line[0].owner ?? ''}`, line.length]));
}

describe('findJobLines', () => {
  it('reads only the newest records, and all tasks of the arrays among them', async () => {
    const found = await sizes({}, 50);
    assert.equal(found.size, 50);
    assert.deepEqual([...found.keys()].slice(0, 3), ['5000 bob', ARRAY, '5001 bob']);
    assert.equal(found.get(ARRAY), 3000);
    assert.deepEqual(
      asked.map(({ limit }) => limit),
      [500],
    );
  });

  it('counts only the tasks that the filter selects', async () => {
    assert.equal((await sizes({ owner: 'bob', failed: true }, 50)).get(ARRAY), 300);
  });

  it('reads more records where the newest are of too few jobs, and all where whole jobs are sorted', async () => {
    assert.equal((await sizes({}, 70)).get(ARRAY), 3000);
    assert.deepEqual(
      asked.map(({ limit, totals }) => [limit, totals]),
      [
        [500, undefined],
        [4000, false],
      ],
    );
    assert.equal((await sizes({ sort: 'cpu' }, 5)).get(ARRAY), 3000);
    assert.deepEqual(
      asked.map(({ limit }) => limit),
      [200_000],
    );
  });
});

describe('findJobLines of self-reported records', () => {
  it('does not take the records that were read for all, since the totals leave them out', async () => {
    const claimed = array.map((record): JobRecord => ({ ...record, trust: 'self-reported' }));
    const stored = memoryReader(claimed);
    const { lines } = await findJobLines(QUERY, 50, [stored]);
    assert.deepEqual(
      lines.map((line) => line.length),
      [claimed.length],
    );
  });
});

describe('findJobSums', () => {
  const query = { since: 0, until: END + 1 };
  const wanted = { jobs: 3, waits: true, limit: 200_000, fields: LIST_FIELDS };
  const tasks = array.slice(0, 20);

  it('sorts the jobs of several stores together; null where two stores share a job or one has no sums', async (t) => {
    const stores = [single.slice(0, 4), tasks].map((records) => {
      const store = openSqliteStore(temporaryStore(), 0o640);
      t.after(() => store.close());
      return { store, records };
    });
    for (const { store, records } of stores) await store.merge(records);
    const readers = stores.map(({ store }) => store);
    const found = await findJobSums(query, wanted, readers);
    assert.deepEqual(
      found?.lines.map(({ latest, records }) => [latest.job_id, records]),
      [
        [5000, 1],
        [task.job_id, 20],
        [5001, 1],
      ],
    );
    assert.deepEqual([found.read, found.totals.records], [24, 24]);
    await stores[0]?.store.merge(tasks.slice(0, 1));
    assert.equal(
      await findJobSums(query, wanted, readers),
      null,
      'a job that is in both is put together from its records',
    );
    assert.equal(await findJobSums(query, wanted, [...readers.slice(1), reader]), null);
  });
});

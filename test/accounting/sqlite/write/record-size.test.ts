import assert from 'node:assert/strict';
import { it } from 'node:test';
import type { TestContext } from 'node:test';
import { SQLITE_PACKAGE, SqliteDatabase } from '../../../../src/native/sqlite';
import { openSqliteStore } from '../../../../src/accounting/sqlite/sqlite-store';
import type { JobRecord } from '../../../../src/record/record';
import { accountingLineOf, heartbeatOf, realisticRecords, seededRandom } from '../../realistic-record';
import { lineOf } from '../../suite/fixture';
import { temporaryStore } from '../../temporary-store';

/** More for a true measurement: QMEMACCT_TEST_RECORDS=200000. */
const RECORDS = Number(process.env.QMEMACCT_TEST_RECORDS ?? 10_000);
const BATCH = 500;
/** SQLite 3.54, which Node 24.19 and later have, leaves a little more room in a page whose rows grew. */
const BUDGET_BYTES = SQLITE_PACKAGE === 'better-sqlite3' ? 450 : 451;
const LINE_BUDGET_BYTES = 275;
const METRICS = 30;
const BYTES_PER_METRIC = 12;

/** Bytes per record of the table and its indexes, without dictionaries, which do not grow with the records. */
interface Sizes {
  readonly total: number;
  readonly parts: readonly string[];
}

function sizes(path: string, records: number): Sizes {
  const db = new SqliteDatabase(path, { readonly: true });
  const rows = db
    .prepare<[], { name: string; bytes: number }>(
      "SELECT name, sum(pgsize) AS bytes FROM dbstat WHERE name LIKE 'record%' GROUP BY name ORDER BY bytes DESC",
    )
    .all();
  db.close();
  return {
    total: rows.reduce((sum, { bytes }) => sum + bytes, 0) / records,
    parts: rows.slice(0, 5).map(({ name, bytes }) => `${name} ${(bytes / records).toFixed(1)}`),
  };
}

async function measure(t: TestContext, title: string, versions: readonly ((record: JobRecord) => JobRecord)[]) {
  const path = temporaryStore();
  const store = openSqliteStore(path, 0o640);
  const { next } = realisticRecords();
  const began = performance.now();
  let late: readonly JobRecord[] = [];
  for (let done = 0; done < RECORDS; done += BATCH) {
    const records = Array.from({ length: Math.min(BATCH, RECORDS - done) }, next);
    for (const [index, version] of versions.entries())
      // The accounting line comes a batch later than the sampler's own record.
      await store.merge((index === 2 ? late : records).map(version));
    late = records;
  }
  const ms = performance.now() - began;
  await store.close();
  const { total, parts } = sizes(path, RECORDS);
  t.diagnostic(
    `${title}: ${RECORDS} records, ${total.toFixed(1)} bytes each (${parts.join(', ')}), ${((ms * 1000) / RECORDS).toFixed(0)} us each`,
  );
  return total;
}

const itself = (record: JobRecord): JobRecord => record;

let ofOneDelivery: Promise<number> | null = null;
const measureOneDelivery = (t: TestContext): Promise<number> =>
  (ofOneDelivery ??= measure(t, 'delivered once', [itself]));

it('a record with all its indexes stays within its budget', async (t) => {
  assert.ok((await measureOneDelivery(t)) <= BUDGET_BYTES);
});

it('a record that began as a heartbeat and joined its accounting line stays within its budget', async (t) => {
  assert.ok((await measure(t, 'heartbeat, end, accounting', [heartbeatOf, itself, accountingLineOf])) <= BUDGET_BYTES);
});

it('a record from an accounting line alone takes less', async (t) => {
  const line = (record: JobRecord): JobRecord =>
    lineOf({ ...record, run_id: '' }, { job_name: record.job_name, queue: record.queue, project: record.project });
  assert.ok((await measure(t, 'accounting lines alone', [line])) <= LINE_BUDGET_BYTES);
});

it('each metric of a record adds a few bytes', async (t) => {
  const random = seededRandom(5);
  const withMetrics = (record: JobRecord): JobRecord => ({
    ...record,
    metrics: Object.fromEntries(
      Array.from({ length: METRICS }, (_, index) => [
        `source_metric${index}`,
        // Seconds to the millisecond, bytes in pages, events.
        Math.floor(random() ** 2 * 1e7) * ([0.001, 4096, 1][index % 3] ?? 1),
      ]),
    ),
  });
  const [without, carried] = [await measureOneDelivery(t), await measure(t, '30 metrics', [withMetrics])];
  assert.ok((carried - without) / METRICS <= BYTES_PER_METRIC, `${(carried - without) / METRICS} bytes a metric`);
});

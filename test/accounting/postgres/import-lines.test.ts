import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { HistoryStore, ImportedFile } from '../../../src/accounting/history-store';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { hourOf } from '../../../src/accounting/sums/periods';
import { Words } from '../../../src/accounting/postgres/words';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';
import type { JobRecord } from '../../../src/record/record';
import { arbitraryLine } from '../import/arbitrary-line';
import { realisticRecords } from '../realistic-record';
import { often } from '../../support/thorough';
import { tableLines } from '../import/table-lines';
import { FILE } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const seen = { ...realisticRecords(5).next(), cluster: 'cell' };

/** How a record of ours differs from the accounting line of its run. */
const differences = fc.record({
  later: fc.constantFrom(0, 200, 200, 1500, 2000, 2001),
  host: fc.constantFrom(null, null, null, 'ge1', 'ge1.example', 'ge9'),
  fields: fc.record(
    {
      owner: fc.constantFrom(null, 'bob'),
      queue: fc.constant(null),
      h_vmem: fc.constant(null),
      requests: fc.constantFrom({}, { mem_free: { request_bytes: 1, limit_bytes: 1, per: 'slot' as const } }),
      slots: fc.constant(null),
      signal: fc.constant(null),
      cpu_seconds: fc.constant(null),
      grid_engine: fc.constant(null),
      peak_rss: fc.constant(null),
      trust: fc.constantFrom('usage' as const, 'self-reported' as const),
    },
    { requiredKeys: [] },
  ),
  isEnded: fc.constantFrom(true, true, true, false),
});

type Differences = typeof differences extends fc.Arbitrary<infer T> ? T : never;

function oursOf(line: AccountingRecord, { later, host, fields, isEnded }: Differences): JobRecord {
  const started = (line.startTimeMs ?? line.submissionTimeMs ?? 0) + later;
  return {
    ...seen,
    job_id: line.jobId,
    task_id: line.task === 0 ? null : line.task,
    pe_task_id: line.peTaskId,
    host: host ?? line.host,
    owner: line.owner,
    started_at: new Date(started).toISOString(),
    run_id: `00000001.1.${started}`,
    ...fields,
    ...(isEnded ? {} : { ended_at: null, exit_status: null, status: 'running' as const }),
  };
}

/** Imports lines, `size` at a time. Returns how many joined a record. */
async function importAll(store: HistoryStore, head: string, lines: readonly AccountingRecord[], size: number) {
  let before: ImportedFile | null = null;
  let joined = 0;
  for (let at = 0; at < lines.length; at += size) {
    const file: ImportedFile = { ...FILE, head, offset: at + 1 };
    const batch = lines.slice(at, at + size);
    const outcome = await store.importLines({ file, before, lines: tableLines(batch), unreadable: [] });
    assert.equal(outcome.added + outcome.joined + outcome.unchanged, batch.length);
    joined += outcome.joined;
    before = file;
  }
  return joined;
}

const HOUR = 3_600_000;
const EMPTIED = 'record, series, stale_hour, imported_file, unreadable_line';

describe('importLines() into PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  /** All records, series and stale hours, sorted; empties the store. */
  async function rows(name: string): Promise<Readonly<Record<string, unknown>>> {
    const [all] = (await server.run(
      name,
      `SELECT (SELECT jsonb_agg(to_jsonb(r) - 'id' ORDER BY job_id, task_id, pe_task_id, host_id, run_id) FROM qmemacct.record AS r) AS records,
         (SELECT jsonb_agg(points ORDER BY points) FROM qmemacct.series) AS series,
         (SELECT jsonb_agg(hour ORDER BY hour) FROM qmemacct.stale_hour) AS stale`,
    )) as readonly Readonly<Record<string, unknown>>[];
    assert.ok(all !== undefined);
    await server.run(name, `SET search_path = qmemacct; TRUNCATE ${EMPTIED}`);
    return all;
  }
  async function merge(store: HistoryStore, records: readonly JobRecord[]): Promise<void> {
    for (const outcome of await store.merge(records)) assert.deepEqual(outcome.ok || outcome.error, true);
  }

  it('makes the same rows and marks the same hours as merging record by record', async () => {
    const name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const deliver = async (records: readonly JobRecord[]): Promise<void> => {
      await merge(store, records);
      await server.run(name, 'TRUNCATE qmemacct.stale_hour');
    };
    let joined = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            line: fc.oneof(arbitraryLine(), arbitraryLine(), arbitraryLine(4)),
            ours: fc.option(differences, { freq: 2 }),
          }),
          { minLength: 20, maxLength: 60 },
        ),
        fc.integer({ min: 1, max: 70 }),
        async (items, size) => {
          const lines = items.map(({ line }) => line);
          const ours = items.flatMap(({ line, ours: its }) => (its === null ? [] : [oursOf(line, its)]));
          await deliver(ours);
          joined += await importAll(store, 'abc', lines, size);
          const bySet = await rows(name);
          await deliver(ours);
          const records = lines.map((line) => recordOfLine(line, { cluster: 'cell' }));
          // In the same batches: if our record of a master and its line did not join, a slave task has two masters, and
          // the order decides whether it gets the requests of ours.
          for (let at = 0; at < records.length; at += size) await merge(store, records.slice(at, at + size));
          const oneByOne = await rows(name);
          assert.deepEqual([bySet.records, bySet.series], [oneByOne.records, oneByOne.series]);
          // The import also marks hours in which a record counted only until the next batch, but not the hour of our
          // records if no sum changes.
          const marked = new Set([...(bySet.stale as readonly number[]), hourOf(Date.parse(seen.ended_at ?? ''))]);
          assert.deepEqual(
            (oneByOne.stale as readonly number[]).filter((hour) => !marked.has(hour)),
            [],
          );
        },
      ),
      { numRuns: often(5, 12), endOnFailure: true },
    );
    assert.ok(joined > 0, 'lines joined records');
    await store.close();
  });

  it('keeps the numbers of 50,000 strings until the transaction ends, and then forgets them', async () => {
    const name = await server.database();
    const db = connect(server.url(name));
    const words = new Words();
    const known = words.intern('job_name', 'known');
    await words.ensure(db);
    const many = Array.from({ length: 50_000 }, (_, n) => words.intern('job_name', `run ${n}`));
    assert.equal(words.intern('job_name', 'known'), words.number('job_name', known));
    await words.ensure(db);
    const numbers = new Set([known, ...many].map((cell) => words.number('job_name', cell)));
    assert.equal(numbers.size, 50_001);
    words.committed();
    await words.begin(db);
    assert.ok(words.intern('job_name', 'known') < 0, 'the numbers of many strings are forgotten');
    await db.close();
  });

  it('gives no string a number that is another string’s since the store was put back to an earlier state', async (t) => {
    const name = await server.database();
    const db = connect(server.url(name));
    t.after(() => db.close());
    const words = new Words();
    const numberOfEve = async (): Promise<unknown> => {
      await words.begin(db);
      const eve = words.intern('owner', 'eve');
      await words.ensure(db);
      words.committed();
      return words.number('owner', eve);
    };
    const number = await numberOfEve();
    assert.equal(await numberOfEve(), number);
    // As if frank had come first after the restore.
    await server.run(name, "UPDATE qmemacct.owner SET name = 'frank' WHERE name = 'eve'");
    assert.notEqual(await numberOfEve(), number);
  });

  it('stores each line once beside other importers and deliverers', async () => {
    const name = await server.database();
    const [base] = fc.sample(arbitraryLine(), { numRuns: 1, seed: 1 });
    assert.ok(base !== undefined);
    const usual = { ...base, task: 0, peTaskId: null, host: 'ge1', owner: 'alice', exitStatus: 0, failed: 0 };
    const started = Date.UTC(2025, 10, 20);
    const lines = Array.from({ length: 600 }, (_, n): AccountingRecord => {
      const at = { startTimeMs: started + n * HOUR, endTimeMs: started + (n + 1) * HOUR };
      // The same new strings and months come from several importers at once.
      return { ...usual, ...at, jobId: 1 + (n % 250), jobName: `run ${n % 70}`, queue: `q${n % 9}` };
    });
    const ours = lines.flatMap((line, n) =>
      n % 3 === 0
        ? []
        : oursOf(line, { later: 200, host: null, isEnded: true, fields: n % 5 === 0 ? { owner: null } : {} }),
    );
    const stores = Array.from({ length: 6 }, () => openPostgresHistory(server.url(name)));
    await Promise.all(
      stores.map(async (store, at) => {
        const own = <T>(items: readonly T[]): readonly T[] => items.filter((_, n) => n % 3 === at % 3);
        if (at < 3) await importAll(store, `file ${at}`, own(lines), 30);
        else
          for (let from = 0; from < own(ours).length; from += 20) await merge(store, own(ours).slice(from, from + 20));
      }),
    );
    const atOnce = await rows(name);
    const [store] = stores;
    assert.ok(store !== undefined);
    await merge(store, ours);
    await merge(
      store,
      lines.map((line) => recordOfLine(line, { cluster: 'cell' })),
    );
    // Stale hours are not compared: where a record counted before it was joined depends on the order.
    const { records, series } = await rows(name);
    assert.deepEqual([atOnce.records, atOnce.series], [records, series]);
    for (const one of stores) await one.close();
  });
});

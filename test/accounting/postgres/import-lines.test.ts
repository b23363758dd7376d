import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import fc from 'fast-check';
import type { ImportedFile } from '../../../src/accounting/history-store';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import { doubleText } from '../../../src/accounting/postgres/array-text';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import type { AccountingRecord } from '../../../src/gridengine/accounting-line';
import type { JobRecord } from '../../../src/sampler/record';
import { arbitraryLine } from '../import/arbitrary-line';
import { realisticRecords } from '../realistic-record';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

const FILE: ImportedFile = {
  cluster: 'cell',
  head: 'abc',
  headBytes: 4096,
  path: '/x/accounting',
  device: 1,
  inode: 2,
  offset: 5000,
  lines: 10,
};

const seen = { ...realisticRecords(5).next(), cluster: 'cell' };

/** What a record of ours says of the run that a line tells of, often enough. */
const differences = fc.record({
  later: fc.constantFrom(0, 200, 200, 1500, 2000, 2001),
  host: fc.constantFrom(null, null, null, 'ge1', 'ge1.example', 'ge9'),
  fields: fc.record(
    {
      owner: fc.constantFrom(null, 'bob'),
      queue: fc.constant(null),
      h_vmem: fc.constant(null),
      requests: fc.constantFrom({}, { mem_free: { request_bytes: 1, limit_bytes: 1, per: 'slot' as const } }),
      cpu_efficiency: fc.constant(null),
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

const EMPTIED = 'job_record, series, job_month, day_month, stale_day, imported_file, unreadable_line';

describe('import_set()', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer({ settings: ['synchronous_commit = off', 'fsync = off'] })));
  after(() => server.remove());

  it('makes the same rows and marks the same days as merging record by record', async () => {
    const name = await server.database();
    const store = openPostgresHistory(server.url(name));
    const rows = async (): Promise<unknown> => {
      const [all] = await server.run(
        name,
        `SELECT (SELECT jsonb_agg(to_jsonb(r) - 'id' ORDER BY job_id, task_id, pe_task_id, host_id, run_id) FROM qmemacct.job_record AS r) AS records,
           (SELECT jsonb_agg(points ORDER BY points) FROM qmemacct.series) AS series,
           (SELECT jsonb_agg(DISTINCT day) FROM qmemacct.stale_day) AS stale,
           (SELECT jsonb_agg(to_jsonb(m) ORDER BY day, key_month) FROM qmemacct.day_month AS m) AS days,
           (SELECT jsonb_agg(to_jsonb(m) ORDER BY block, key_month) FROM qmemacct.job_month AS m) AS jobs`,
      );
      await server.run(name, `SET search_path = qmemacct; TRUNCATE ${EMPTIED}`);
      return all;
    };
    const deliver = async (records: readonly JobRecord[]): Promise<void> => {
      for (const outcome of await store.merge(records)) assert.deepEqual(outcome.ok || outcome.error, true);
      await server.run(name, 'TRUNCATE qmemacct.stale_day');
    };
    let joined = 0;
    await fc.assert(
      fc.asyncProperty(
        fc.array(
          fc.record({
            line: fc.oneof(arbitraryLine(), arbitraryLine(), arbitraryLine(4)),
            met: fc.option(differences, { freq: 2 }),
          }),
          { minLength: 20, maxLength: 60 },
        ),
        fc.integer({ min: 1, max: 70 }),
        async (items, size) => {
          const lines = items.map(({ line }) => line);
          const met = items.flatMap(({ line, met: its }) => (its === null ? [] : [oursOf(line, its)]));
          await deliver(met);
          let before: ImportedFile | null = null;
          for (let at = 0; at < lines.length; at += size) {
            const file: ImportedFile = { ...FILE, offset: at + 1 };
            const batch = lines.slice(at, at + size);
            const outcome = await store.importLines({ file, before, lines: batch, unreadable: [] });
            assert.equal(outcome.added + outcome.joined + outcome.unchanged, batch.length);
            joined += outcome.joined;
            before = file;
          }
          const bySet = await rows();
          await deliver(met);
          const records = lines.map((line) => recordOfLine(line, { cluster: 'cell' }));
          for (const outcome of await store.merge(records)) assert.ok(outcome.ok);
          assert.deepEqual(bySet, await rows());
        },
      ),
      { numRuns: Number(process.env.RUNS ?? 12), endOnFailure: true },
    );
    assert.ok(joined > 0, 'lines met records');
    await store.close();
  });

  it('knows how the server prints a number', async () => {
    const values = [
      0,
      1e-7,
      1.5e-5,
      0.0001,
      0.1,
      1 / 3,
      123456.789,
      999999999999999,
      1e15,
      1.25e15,
      1e22,
      1e30,
      5e-324,
    ];
    const [row] = await server.run(
      'postgres',
      `SELECT ARRAY(SELECT x::text FROM unnest('{${values.join(',')}}'::double precision[]) WITH ORDINALITY AS u (x, n) ORDER BY n)::text AS texts`,
    );
    assert.deepEqual(row, { texts: `{${values.map(doubleText).join(',')}}` });
  });
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ImportedFile } from '../../../../src/accounting/history-store';
import { recordOfLine } from '../../../../src/accounting/import/line-record';
import { openSqliteHistory } from '../../../../src/accounting/sqlite/sqlite-history';
import { parseRecord } from '../../../../src/record/record';
import { parseAccountingLine } from '../../../gridengine/parse-accounting-line';
import type { JobRecord, Trust } from '../../../../src/record/record';
import { SqliteDatabase } from '../../../../src/native/sqlite';
import { arbitraryRecord } from '../../arbitrary-record';
import { arbitraryLine } from '../../import/arbitrary-line';
import { sampleLine } from '../../import/sample-lines';
import { realisticRecords } from '../../realistic-record';
import { importSuite } from '../../suite/import-suite';
import { temporaryStore } from '../../temporary-store';

importSuite(() => Promise.resolve(openSqliteHistory(temporaryStore(), 0o600)));

it('makes records that are in their normal form', () => {
  fc.assert(
    fc.property(arbitraryLine(), (line) => {
      const record = recordOfLine(line, { cluster: 'cell' });
      assert.deepEqual(parseRecord(record), { ok: true, value: record });
    }),
  );
});

it('leaves a file to the importer that knows more of it', async () => {
  const store = openSqliteHistory(temporaryStore(), 0o600);
  const file = { cluster: 'cell', path: '/x/accounting', device: 1, inode: 2 };
  const long = { ...file, head: 'abc', headBytes: 4096, offset: 5000, tail: 'xyz', lines: 10 };
  const short = { ...file, head: 'def', headBytes: 100, offset: 100, tail: 'uvw', lines: 1 };
  const take = (now: ImportedFile, before: ImportedFile | null) =>
    store.importLines({ file: now, before, lines: [], unreadable: [] });
  for (const one of [long, short]) assert.equal((await take(one, null)).conflict, false);
  assert.equal((await take(long, short)).conflict, true);
  assert.deepEqual(await store.importedFiles(), [long, short]);
  await store.close();
});

it('gives a record that has met its line no other one, however close a re-run began', async () => {
  const store = openSqliteHistory(temporaryStore(), 0o600);
  const lines = [0, 1].map((again) => {
    const parsed = parseAccountingLine(sampleLine(7, { start: 1_763_700_000 + again }).trimEnd());
    assert.ok(parsed.ok);
    return { ...parsed.value, exitStatus: again === 0 ? 99 : 0, endTimeMs: 1_763_700_001_000 + 60_000 * again };
  });
  const ours = (again: number) => {
    const started = new Date(1_763_700_000_300 + 1000 * again).toISOString();
    const key = {
      cluster: 'cell',
      job_id: 7,
      task_id: null,
      pe_task_id: null,
      host: 'ge1',
      run_id: `0badcafe.${again}.1`,
    };
    const seen = { ...realisticRecords(5).next(), owner: 'alice', started_at: started };
    return { ...seen, ...key, exit_status: again === 0 ? 99 : 0 };
  };
  const runs = async () =>
    (await store.job({ job_id: 7, all: true })).records.map(({ record }) => [record.run_id, record.exit_status]).sort();
  const file = {
    cluster: 'cell',
    path: '/x',
    device: 1,
    inode: 2,
    head: 'a',
    headBytes: 9,
    offset: 9,
    tail: 'a',
    lines: 2,
  };
  await store.merge([ours(0)]);
  assert.deepEqual(await store.importLines({ file, before: null, lines, unreadable: [] }), {
    added: 1,
    joined: 1,
    unchanged: 0,
    conflict: false,
  });
  assert.deepEqual(await runs(), [
    ['0badcafe.0.1', 99],
    ['accounting.1763700001', 0],
  ]);
  // A copy of the file.
  const copy = await store.importLines({ file: { ...file, head: 'b' }, before: null, lines, unreadable: [] });
  assert.deepEqual([copy.added, copy.joined, copy.unchanged], [0, 0, 2]);
  await store.merge([ours(1)]);
  await store.merge([ours(0)]);
  assert.deepEqual(await runs(), [
    ['0badcafe.0.1', 99],
    ['0badcafe.1.1', 0],
  ]);
  await store.close();
});

/** What the records do not show of rows. */
const JUDGED =
  'SELECT coverage, sampled, killed_by_memory, requested_bytes, energy_joules, counted_at FROM record WHERE job_id = ?';

it('writes into a row of ours what merging would write, whatever the row holds', async () => {
  const start = 1_763_700_000_000;
  const sure = { job_id: 7, task_id: null, pe_task_id: null, cluster: 'cell', host: 'ge1', run_id: '0badcafe.4711.1' };
  const usual = { owner: 'alice', started_at: new Date(start + 300).toISOString(), exit_status: 0, signal: 0 };
  const told = { job_name: 'a', queue: 'q', account: 'sge', slots: 1, host_slots: 1, submitted_at: usual.started_at };
  const ours = fc
    .tuple(
      arbitraryRecord(),
      fc.constantFrom<Trust[]>('root', 'root', 'usage', 'self-reported'),
      fc.boolean(),
      fc.nat(4),
    )
    .map(([record, trust, isTold, other]): JobRecord => ({
      ...record,
      ...sure,
      ...usual,
      ...(isTold
        ? { ...told, grid_engine: null, h_vmem: record.h_vmem ?? { request_bytes: 1, limit_bytes: 1, per: 'slot' } }
        : {}),
      ...(isTold ? { project: record.project ?? 'p', wallclock_seconds: record.wallclock_seconds ?? 0.1 } : {}),
      ...(isTold ? { cpu_seconds: record.cpu_seconds ?? 2.0004, ended_at: record.ended_at ?? usual.started_at } : {}),
      status: other === 0 ? record.status : 'finished',
      trust,
    }));
  const line = arbitraryLine(1).map((any) => ({
    ...any,
    jobId: 7,
    task: 0,
    peTaskId: null,
    host: 'ge1',
    owner: 'alice',
  }));
  const started = fc.tuple(line, fc.nat(5)).map(([any, other]) => ({
    ...any,
    startTimeMs: start,
    endTimeMs: start + 60_000,
    ...(other === 0 ? {} : { failed: 0, exitStatus: 0, pe: null, submissionTimeMs: start - 5000 }),
  }));
  const [imported, merged] = [temporaryStore(), temporaryStore()];
  const [fast, slow] = [imported, merged].map((path) => openSqliteHistory(path, 0o600));
  const rows = [imported, merged].map((path) => new SqliteDatabase(path, { readonly: true }));
  assert.ok(fast !== undefined && slow !== undefined);
  const file = { cluster: 'cell', path: '/x', device: 1, inode: 2, headBytes: 9, offset: 9, tail: 'a', lines: 1 };
  let next = 1;
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(ours, started), { minLength: 60, maxLength: 60 }), async (pairs) => {
      const first = next;
      next += pairs.length;
      const records = pairs.map(([record], index) => ({ ...record, job_id: first + index }));
      const lines = pairs.map(([, any], index) => ({ ...any, jobId: first + index }));
      for (const store of [fast, slow]) for (const { ok } of await store.merge(records)) assert.ok(ok);
      const batch = { file: { ...file, head: String(first) }, before: null, lines, unreadable: [] };
      const { added } = await fast.importLines(batch);
      assert.equal(added, 0);
      await slow.merge(lines.map((any) => recordOfLine(any, { cluster: 'cell' })));
      for (const { job_id } of records) {
        const [a, b] = rows.map((db) => db.prepare(JUDGED).all(job_id));
        assert.deepEqual(a, b);
        assert.deepEqual(await fast.job({ job_id, all: true }), await slow.job({ job_id, all: true }));
      }
    }),
    { numRuns: 4 },
  );
  for (const db of rows) db.close();
  for (const store of [fast, slow]) await store.close();
});

import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ImportedFile } from '../../../../src/accounting/history-store';
import type { TableLine } from '../../../../src/accounting/import/line-table';
import { recordOfLine } from '../../../../src/accounting/import/line-record';
import { openSqliteHistory } from '../../../../src/accounting/sqlite/sqlite-history';
import { parseRecord } from '../../../../src/record/record';
import { parseAccountingLine } from '../../../gridengine/parse-accounting-line';
import { arbitraryLine } from '../../import/arbitrary-line';
import { sampleLine } from '../../import/sample-lines';
import { tableLines } from '../../import/table-lines';
import { realisticRecords } from '../../realistic-record';
import { FILE } from '../../suite/fixture';
import { importSuite } from '../../suite/import-suite';
import { temporaryStore } from '../../temporary-store';

importSuite(() => Promise.resolve(openSqliteHistory(temporaryStore(), 0o600)));

it('recordOfLine makes records in their normal form', () => {
  fc.assert(
    fc.property(arbitraryLine(), (line) => {
      const record = recordOfLine(line, { cluster: 'cell' });
      assert.deepEqual(parseRecord(record), { ok: true, value: record });
    }),
  );
});

it('an import that starts from a shorter part of the file is a conflict', async () => {
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

it('a record that has joined its line does not join that of a rerun one second later', async () => {
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
  assert.deepEqual(await store.importLines({ file, before: null, lines: tableLines(lines), unreadable: [] }), {
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
  const copy = await store.importLines({
    file: { ...file, head: 'b' },
    before: null,
    lines: tableLines(lines),
    unreadable: [],
  });
  assert.deepEqual([copy.added, copy.joined, copy.unchanged], [0, 0, 2]);
  await store.merge([ours(1)]);
  await store.merge([ours(0)]);
  assert.deepEqual(await runs(), [
    ['0badcafe.0.1', 99],
    ['0badcafe.1.1', 0],
  ]);
  await store.close();
});

it('a batch that fails leaves nothing behind that the next one would take for known', async () => {
  const store = openSqliteHistory(temporaryStore(), 0o640);
  const lineOf = (job: number, category: string): Iterable<TableLine> => {
    const parsed = parseAccountingLine(sampleLine(job).trimEnd());
    assert.ok(parsed.ok);
    return tableLines([{ ...parsed.value, category }]);
  };
  const importOf = (lines: Iterable<TableLine>, head: string) =>
    store.importLines({ file: { ...FILE, head }, before: null, lines, unreadable: [] });
  function* failing(): Iterable<TableLine> {
    yield* lineOf(7, '-l mem_free=1G');
    throw new Error('cut off');
  }
  await assert.rejects(importOf(failing(), 'a'), /cut off/);
  await importOf(lineOf(8, '-l mem_free=2G'), 'b');
  await importOf(lineOf(9, '-l mem_free=1G'), 'c');
  const requests = await Promise.all(
    [8, 9].map(async (job_id) => (await store.job({ job_id })).records[0]?.record.requests),
  );
  assert.deepEqual(
    requests.map((one) => one?.mem_free?.request_bytes),
    [2 * 2 ** 30, 2 ** 30],
  );
  await store.close();
});

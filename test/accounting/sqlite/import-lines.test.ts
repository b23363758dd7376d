import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
import type { ImportedFile } from '../../../src/accounting/history-store';
import { recordOfLine } from '../../../src/accounting/import/line-record';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { parseRecord } from '../../../src/sampler/parse-record';
import { arbitraryLine } from '../import/arbitrary-line';
import { importSuite } from '../suite/import-suite';
import { temporaryStore } from '../temporary-store';

importSuite((t) => Promise.resolve(openSqliteHistory(temporaryStore(t), 0o600)));

it('makes records that are in their normal form', () => {
  fc.assert(
    fc.property(arbitraryLine(), (line) => {
      const record = recordOfLine(line, { cluster: 'cell' });
      assert.deepEqual(parseRecord(record), record);
    }),
  );
});

it('leaves a file to the importer that knows more of it', async (t) => {
  const store = openSqliteHistory(temporaryStore(t), 0o600);
  const file = { cluster: 'cell', path: '/x/accounting', device: 1, inode: 2 };
  const long = { ...file, head: 'abc', headBytes: 4096, offset: 5000, lines: 10 };
  const short = { ...file, head: 'def', headBytes: 100, offset: 100, lines: 1 };
  const take = (now: ImportedFile, before: ImportedFile | null) =>
    store.importLines({ file: now, before, lines: [], unreadable: [] });
  for (const one of [long, short]) assert.equal((await take(one, null)).conflict, false);
  assert.equal((await take(long, short)).conflict, true);
  assert.deepEqual(await store.importedFiles('cell'), [long, short]);
  await store.close();
});

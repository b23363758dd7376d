import assert from 'node:assert/strict';
import { it } from 'node:test';
import fc from 'fast-check';
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

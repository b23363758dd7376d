import assert from 'node:assert/strict';
import { dirname } from 'node:path';
import { it } from 'node:test';
import { lastImport } from '../../../src/accounting/sqlite/import/imported-files';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { checkAccounting } from '../../../src/cli/doctor/check-accounting';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { FILE } from '../../accounting/suite/fixture';
import { temporaryStore } from '../../accounting/temporary-store';

it(
  'doctor says when accounting lines were last imported',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async () => {
    const accounting = temporaryStore();
    const state = {
      settings: { ...DEFAULT_SETTINGS, accounting, deliver_as: 'root' },
      settingsPath: '/nonexistent',
      prefix: dirname(accounting),
      ...{ version: null, conf: null, stamp: null, isRoot: true },
    };
    const said = (seconds: number): string | undefined =>
      checkAccounting(state, { runsJobs: true }, new Date(seconds)).find(({ name }) => name === 'import')?.says;
    const store = openSqliteHistory(accounting, 0o600);
    assert.equal(said(0), undefined);
    await store.importLines({ file: FILE, before: null, lines: [], unreadable: [] });
    const first = lastImport(accounting) ?? 0;
    assert.equal(said(first + 7_200_000), "lines of Grid Engine's accounting last came 2:00:00 ago");
    await store.importLines({ file: { ...FILE, offset: FILE.offset + 1 }, before: FILE, lines: [], unreadable: [] });
    assert.ok((lastImport(accounting) ?? 0) > first);
    await store.close();
  },
);

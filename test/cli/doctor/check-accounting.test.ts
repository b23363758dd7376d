import assert from 'node:assert/strict';
import { chmodSync, closeSync, openSync, statSync, writeFileSync, writeSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { importFile } from '../../../src/accounting/import/import-file';
import { importsInto } from '../../../src/accounting/sqlite/import/imported-files';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import { checkAccounting } from '../../../src/cli/doctor/check-accounting';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import type { NodeState } from '../../../src/cli/doctor/node-state';
import { ordinary } from '../../report/sample-records';
import { notRoot } from '../../support/qmemacct';
import { sampleLine } from '../../accounting/import/sample-lines';
import { FILE } from '../../accounting/suite/fixture';
import { temporaryStore } from '../../accounting/temporary-store';

const stateOf = (accounting: string): NodeState => ({
  settings: { ...DEFAULT_SETTINGS, accounting, deliver_as: 'root' },
  settingsPath: '/nonexistent',
  prefix: dirname(accounting),
  ...{ version: null, conf: null, stamp: null, isRoot: true },
});

it('doctor finds a damaged SQLite file', { skip: notRoot }, async () => {
  const accounting = temporaryStore();
  const store = openSqliteHistory(accounting, 0o600);
  await store.merge(Array.from({ length: 200 }, (_, index) => ({ ...ordinary, job_id: index + 1 })));
  await store.close();
  const look = (): unknown =>
    checkAccounting(stateOf(accounting), { runsJobs: true }, new Date(), {})
      .filter(({ name }) => name === 'accounting DB')
      .map(({ severity, says }) => [severity, says.split(': ')[1]]);
  assert.deepEqual(look(), [['ok', 'user "root" can write to it']]);
  const file = openSync(accounting, 'r+');
  // The end of the file: the schema stays readable.
  writeSync(file, Buffer.alloc(80 * 1024, 0xa5), 0, 80 * 1024, statSync(accounting).size - 80 * 1024);
  closeSync(file);
  assert.deepEqual(look(), [['problem', 'the file is damaged']]);
});

it('doctor names the user who cannot use the accounting DB, and how to mend that', { skip: notRoot }, () => {
  const directory = dirname(temporaryStore());
  const fixes = (accounting: string): readonly string[] => {
    const state = stateOf(accounting);
    const nobody = { ...state, settings: { ...state.settings, deliver_as: '' } };
    return checkAccounting(nobody, { runsJobs: true }, new Date(), {})
      .filter(({ severity }) => severity === 'problem')
      .map(({ says, fix }) => `${says.split(' (')[0] ?? ''}; ${fix ?? ''}`);
  };
  const [missing] = fixes('/nonexistent/accounting.db');
  assert.match(missing ?? '', /user "nobody" can't use it: ENOENT.*; make \/nonexistent, or mount its file system$/);
  const [denied] = fixes(join(directory, 'a.db'));
  assert.match(denied ?? '', /user "nobody" can't use it: EACCES.*; let user "nobody" write to it and its directory/);
  const [notAFile] = fixes(directory);
  assert.match(notAFile ?? '', /can't use it: it is a directory.*; name a file in it$/);
  const [down] = fixes('postgres://127.0.0.1:1/a?sslmode=disable');
  assert.match(
    down ?? '',
    /^postgres:\S+: user "nobody" can't use it: the server does not answer; see that PostgreSQL/,
  );
  chmodSync(directory, 0o777);
  const [open] = fixes(join(directory, 'a.db'));
  assert.match(open ?? '', /can't use it: everyone may write to .*; chmod o-w .*$/);
});

it(
  'doctor says when accounting lines were last imported',
  { skip: process.getuid?.() !== 0 && 'not root' },
  async () => {
    const accounting = temporaryStore();
    const state = stateOf(accounting);
    const lastImport = (seconds: number): string | undefined =>
      checkAccounting(state, { runsJobs: true }, new Date(seconds), {}).find(({ name }) => name === 'import')?.says;
    const store = openSqliteHistory(accounting, 0o600);
    assert.equal(lastImport(0), undefined);
    await store.importLines({ file: FILE, before: null, lines: [], unreadable: [] });
    const first = importsInto(accounting).at ?? 0;
    assert.equal(lastImport(first + 7_200_000), "lines of Grid Engine's accounting last came 2:00:00 ago");
    await store.importLines({ file: { ...FILE, offset: FILE.offset + 1 }, before: FILE, lines: [], unreadable: [] });
    assert.ok((importsInto(accounting).at ?? 0) > first);
    await store.close();
  },
);

it("doctor gives the reason for which an import refuses another cluster's file", { skip: notRoot }, async () => {
  const accounting = temporaryStore();
  const file = join(dirname(accounting), 'accounting');
  writeFileSync(file, sampleLine(1));
  const store = openSqliteHistory(accounting, 0o600);
  await importFile(file, store, { cluster: 'cell' });
  const found = (cluster: string): readonly string[] => {
    const state = stateOf(accounting);
    const settings = { ...state.settings, cluster, accounting_files: [file] };
    const findings = checkAccounting({ ...state, settings }, { runsJobs: true }, new Date(), {});
    return findings.filter(({ severity }) => severity === 'problem').map(({ says, fix }) => `${says}; ${fix ?? ''}`);
  };
  assert.deepEqual(found('cell'), []);
  const [reason, ...others] = found('new');
  assert.deepEqual(others, []);
  await assert.rejects(importFile(file, store, { cluster: 'new' }), { message: reason });
  await store.close();
});

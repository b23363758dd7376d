import assert from 'node:assert/strict';
import { existsSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { it } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { runProgram } from '../../../src/cli/program';
import { temporaryStore } from '../../accounting/temporary-store';
import { ordinary } from '../../report/sample-records';
import { fakeTerminal } from '../fake-terminal';

it('backup copies the accounting DB and says where and how much, or why not', async () => {
  const accounting = temporaryStore();
  const store = openSqliteStore(accounting, 0o640);
  await store.merge([ordinary]);
  await store.close();
  const copy = join(dirname(accounting), 'copy.db');
  const config = join(dirname(accounting), 'qmemacct.toml');
  const run = async (place: string, ...words: readonly string[]): Promise<readonly [number, string]> => {
    writeFileSync(config, `accounting = "${place}"\n`);
    const terminal = fakeTerminal();
    const status = await runProgram(['backup', copy, '--config', config, ...words], '0', terminal);
    return [status, terminal.output() + terminal.warnings()];
  };
  const [status, text] = await run(accounting);
  assert.equal(status, 0, text);
  assert.match(text, /^\S+accounting.db copied to \S+copy.db: \d+ KiB\n$/);
  const [, json] = await run(accounting, '--json');
  assert.deepEqual(JSON.parse(json), { schema: 1, accounting, file: copy, bytes: statSync(copy).size });
  const [inPostgres, advice] = await run('postgres://db.example.org/jobs');
  assert.equal(inPostgres, 2);
  assert.match(advice, /only an SQLite accounting DB is copied by this; use pg_dump/);
  const none = join(dirname(accounting), 'none.db');
  const [missing, reason] = await run(none);
  assert.equal(missing, 3);
  assert.match(reason, /none.db: it does not exist/);
  assert.ok(!existsSync(none));
});

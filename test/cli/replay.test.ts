import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { openSqliteStore } from '../../src/accounting/sqlite/sqlite-store';
import { ownStorePath } from '../../src/cli/stores/stores';
import type { JobRecord } from '../../src/record/record';
import { pastJobs } from '../report/past-jobs';
import { qmemacct } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';

async function site(
  records: readonly JobRecord[],
): Promise<(...words: readonly string[]) => ReturnType<typeof qmemacct>> {
  const directory = temporaryDirectory();
  const config = join(directory, 'qmemacct.toml');
  writeFileSync(config, `accounting = "${directory}/site.db"\n`);
  const store = openSqliteStore(join(directory, 'site.db'), 0o600);
  await store.merge(records);
  await store.close();
  return (...words) => qmemacct(['--config', config, 'replay', ...words], { env: { COLUMNS: '120' } });
}

describe('qmemacct replay', () => {
  it("plays the advice over the accounting DB's jobs, beside their users' requests", async () => {
    const replay = await site(pastJobs(40));
    const shown = replay('--since', '2026-10-01', '--risk', '5');
    assert.equal(shown.status, 0, shown.stderr);
    assert.match(shown.stdout, /^accounting DB: 40 jobs, 37 with 3 earlier runs or more$/m);
    assert.match(shown.stdout, /^advice, risk up to 5.0 % +37 +3\.92 % +0\.00 %/m);
    assert.match(shown.stdout, /^users' requests +37 +0\.00 %/m);
    assert.match(
      replay('--since', '2026-10-01', '--csv').stdout,
      /^name,request,risk,[^]*\naccounting DB,users,,37,0,/,
    );
    const json = JSON.parse(replay('--since', '2026-10-01', '--risk', '5', '--json').stdout) as {
      readonly replays: readonly {
        readonly advisable: number;
        readonly advice: readonly { readonly risk: number }[];
      }[];
    };
    assert.equal(json.replays[0]?.advisable, 37);
    assert.equal(json.replays[0].advice[0]?.risk, 0.05);
  });

  it('counts a job once that two stores have', async () => {
    const directory = temporaryDirectory();
    const config = join(directory, 'qmemacct.toml');
    writeFileSync(config, `accounting = "${directory}/site.db"\n`);
    mkdirSync(join(directory, 'qmemacct'));
    for (const path of [join(directory, 'site.db'), ownStorePath({ XDG_STATE_HOME: directory })]) {
      const store = openSqliteStore(path, 0o600);
      await store.merge(pastJobs(40));
      await store.close();
    }
    const words = ['--config', config, 'replay', '--since', '2026-10-01'];
    const { stdout } = qmemacct(words, { env: { COLUMNS: '120', XDG_STATE_HOME: directory } });
    assert.match(stdout, /^accounting DB: 40 jobs, 37 with 3 earlier runs or more$/m);
  });

  it('says what is wrong', async () => {
    const replay = await site([]);
    const none = replay();
    assert.deepEqual([none.status, none.stdout], [1, '']);
    assert.match(none.stderr, /^qmemacct: replay: the memory of no job of this time is known/);
    const risk = replay('--risk', '1,many');
    assert.equal(risk.status, 2);
    assert.match(risk.stderr, /--risk: "many" is not a percentage from 0.1 to 50/);
    const file = replay('--trace', '/nowhere.csv');
    assert.equal(file.status, 3);
    assert.match(file.stderr, /^qmemacct: \/nowhere\.csv: .*no such file/);
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openSqliteHistory } from '../../../src/accounting/sqlite/sqlite-history';
import type { StoredRecord } from '../../../src/record/merge';
import type { JobRecord } from '../../../src/record/record';
import { noPostgres, startServer, type Server } from '../../accounting/postgres/server';
import { accountingLineOf, heartbeatOf, realisticRecords } from '../../accounting/realistic-record';
import { DAY, iso, job, lineOf, T0 } from '../../accounting/suite/fixture';
import { temporaryDirectory } from '../../support/temporary-directory';
import { runCommand, type Answer } from '../../support/qmemacct';

function run(...words: readonly string[]): Promise<Answer> {
  return runCommand(words);
}

it('migrate does not promise to continue where the file to read is missing', async () => {
  const path = join(temporaryDirectory(), 'none.db');
  const { status, warnings } = await run('migrate', path, 'postgres://nowhere.invalid/db');
  assert.equal(status, 3);
  assert.match(warnings, /none\.db: it does not exist; /);
  assert.doesNotMatch(warnings, /continues where it stopped/);
});

describe('migrate into PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => void (server = await startServer()));
  after(() => server.remove());

  const newPath = (): string => join(temporaryDirectory(), 'accounting.db');
  const comparable = ({ record, ended, provenance }: StoredRecord): unknown => ({ record, ended, provenance });

  it('copies everything with its provenance, and later only what has changed since', async (t) => {
    const path = newPath();
    const sqlite = openSqliteHistory(path, 0o600);
    t.after(() => sqlite.close());
    const { next } = realisticRecords(7);
    const jobs = Array.from({ length: 300 }, next);
    const series = { start: iso(T0), step_seconds: 10, rss_bytes: [4096, 8192, 0], others: {} };
    const own = job(5, T0, { series });
    for (const version of [heartbeatOf, (record: JobRecord) => record, accountingLineOf])
      await sqlite.merge(jobs.map(version));
    await sqlite.merge([own, lineOf(own), lineOf(job(6, T0))]);
    const importedFile = {
      cluster: 'cell',
      head: 'abc',
      headBytes: 4096,
      path: '/x',
      device: 1,
      inode: 2,
      offset: 99,
      tail: 'xyz',
      lines: 3,
    };
    const unreadable = [{ offset: 7, reason: 'why', text: 'what' }];
    await sqlite.importLines({ file: importedFile, before: null, lines: [], unreadable });

    const url = server.url(await server.database());
    const first = await run('migrate', path, url);
    assert.equal(first.status, 0, first.output + first.warnings);
    assert.match(first.output, /302 records read: 302 new/);
    assert.match(first.output, /302 records; postgres:.* 302 records/);
    assert.match(first.output, /set accounting to that database in qmemacct.toml of every host, without USER/);
    const postgres = openPostgresHistory(url);
    t.after(() => postgres.close());
    for (const id of [5, 6, ...jobs.slice(0, 40).map((record) => record.job_id)]) {
      const [there, here] = [await sqlite.job({ job_id: id }), await postgres.job({ job_id: id })];
      assert.deepEqual(here.records.map(comparable), there.records.map(comparable));
    }
    assert.deepEqual(await postgres.importedFiles(), [importedFile]);
    assert.deepEqual(await postgres.unreadableLines('cell', 9), [{ path: '/x', ...unreadable[0] }]);
    const interval = { since: 0, until: T0 + 1000 * DAY, by: 'owner' } as const;
    const [there, here] = [await sqlite.summary(interval), await postgres.summary(interval)];
    for (const name of ['records', 'jobs', 'failed', 'unsampled'] as const)
      assert.equal(here.totals[name], there.totals[name]);

    // Meanwhile, records are delivered to both stores.
    await sqlite.merge([job(1000, T0), { ...own, revision: T0 + 5, processes: 7 }]);
    await postgres.merge([job(1001, T0)]);
    const second = await run('migrate', path, url, '--json');
    const { read, added, changed, here: count } = JSON.parse(second.output) as Record<string, number>;
    assert.deepEqual([read, added, changed, count], [303, 1, 1, 304]);
    assert.equal((await postgres.job({ job_id: 5 })).records[0]?.record.processes, 7);
  });

  it('says that the file or the preparation of the database is missing', async () => {
    const path = newPath();
    const url = server.url(await server.database());
    const none = await run('migrate', path, url);
    assert.equal(none.status, 3);
    assert.match(none.warnings, /does not exist/);
    await openSqliteHistory(path, 0o600).close();
    await server.run('postgres', 'CREATE DATABASE unprepared');
    const bare = await run('migrate', path, server.url('unprepared'));
    assert.equal(bare.status, 3);
    assert.match(bare.warnings, /run "qmemacct database init URL" first/);
    const init = await run('database', 'init', server.url('unprepared'));
    assert.equal(init.status, 0);
    assert.match(init.output, /GRANT qmemacct_deliver TO/);
    assert.match((await run('database', 'init', server.url('unprepared'))).output, /is up to date/);
    assert.equal((await run('migrate', path, server.url('unprepared'))).status, 0);
  });

  it('is prepared by "database init", which needs the owner of the database with CREATEROLE, not a superuser', async () => {
    for (const role of ['managed LOGIN CREATEROLE CREATEDB', 'poor LOGIN CREATEDB'])
      await server.run('postgres', `CREATE ROLE ${role}`);
    for (const role of ['managed', 'poor']) await server.run('postgres', `CREATE DATABASE of_${role} OWNER ${role}`);
    assert.match((await run('database', 'init', server.url('of_managed', 'managed'))).output, /Now create the roles/);
    const poor = await run('database', 'init', server.url('of_poor', 'poor'));
    assert.equal(poor.status, 3);
    assert.match(poor.warnings, /this user may not do that .*; come as the owner of the database with CREATEROLE/);
    const stranger = await run('database', 'init', server.url('of_poor', 'managed'));
    assert.match(stranger.warnings, /permission denied for database of_poor.*; come as the owner/);
  });
});

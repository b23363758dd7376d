import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { describe, it, type TestContext } from 'node:test';
import { openPostgresReader } from '../../src/accounting/postgres/postgres-store';
import type { JobAttempt } from '../../src/accounting/store';
import type { JobRecord } from '../../src/record/record';
import type { Report } from '../../src/report/efficiency/report';
import { SETTINGS_FILE } from '../../src/record/settings';
import { noPostgres, startServer, type Server } from '../accounting/postgres/server';
import { OWNERS, qacctSums, recordSums } from './owner-sums';
import { withSite, type Site } from './site';
import { until } from '../support/until';

const PASSWORD = 'node:secret';
const CREDENTIALS = '/etc/qmemacct/pgpass';
const NIGHTLY = '/etc/qmemacct/nightly.toml';
/** Access rules: the hooks' role logs in with a password, each other user as the role of the same name (peer). */
const ACCESS = ['local all site_admin trust', 'local all qmemacct scram-sha-256', 'local all all peer'];

/** Shell command that computes a little until a file of this name is in the owner's home: until it has been sampled. */
const waitForFile = (file: string): string =>
  `while [ ! -e ~/${file} ]; do for i in $(seq 2000); do :; done; sleep 0.2; done`;

/** What a site's admin does, by the real commands. */
function admin({ cell, product }: Site, server: Server, database: string) {
  const asOneself = server.url(database).replace(/[^/]*@/, '');
  const hooks = server.url(database, 'qmemacct');
  const run = async (...words: readonly string[]): Promise<string> => {
    const { status, stdout, stderr } = await product.run('ge1', ...words);
    assert.equal(status, 0, `${words.join(' ')}: ${stdout}${stderr}`);
    return stdout;
  };
  return {
    /** Makes the database, its tables and the roles that log in. */
    prepare: async (): Promise<void> => {
      await server.run('postgres', `CREATE DATABASE ${database}`);
      assert.match(await run('database', 'init', server.url(database)), /Now create the roles that log in/);
      for (const sql of [
        `CREATE ROLE qmemacct LOGIN PASSWORD '${PASSWORD}' IN ROLE qmemacct_deliver`,
        'CREATE ROLE root LOGIN IN ROLE qmemacct_owner',
        // The user that root becomes for the import: "deliver_as" of this cell.
        'CREATE ROLE sgeadmin LOGIN IN ROLE qmemacct_owner',
      ])
        await server.run(database, sql);
    },
    /** Makes a host's hooks deliver to PostgreSQL from now on, and its nightly job and import log in as another role. */
    switchOver: async (host: string): Promise<void> => {
      // The user that the deliverer becomes.
      const asked = await cell.check(host, `sed -n 's/^deliver_as = "\\(.*\\)"/\\1/p' ${SETTINGS_FILE}`);
      const deliverAs = asked.trim() === '' ? 'nobody' : asked.trim();
      const line = `*:*:*:qmemacct:${PASSWORD.replace(':', '\\:')}`;
      await cell.check(host, `umask 077; cat >${CREDENTIALS}; chown ${deliverAs} ${CREDENTIALS}`, {
        stdin: `${line}\n`,
      });
      const setting = (url: string, more: string): string =>
        `{ grep -v '^accounting\\(_credentials\\)\\? ' ${SETTINGS_FILE}; echo 'accounting = "${url}"'; ${more}; }`;
      await cell.check(host, `${setting(asOneself, 'true')} >${NIGHTLY}`);
      const text = setting(hooks, `echo 'accounting_credentials = "${CREDENTIALS}"'`);
      // Replaced in one step, as an editor does: a sampler may read the file at any moment.
      await cell.check(host, `${text} >${SETTINGS_FILE}.new && mv ${SETTINGS_FILE}.new ${SETTINGS_FILE}`);
    },
    migrate: async (): Promise<Record<string, unknown>> =>
      JSON.parse(await run('migrate', product.accounting, asOneself, '--json')) as Record<string, unknown>,
    nightly: (...words: readonly string[]): Promise<string> => run('--config', NIGHTLY, ...words),
  };
}

/** Runs jobs before, during and after the move of a site, and compares the database with the accounting file. */
async function siteMoves(t: TestContext, site: Site, server: Server): Promise<void> {
  const { cell, product } = site;
  const database = 'site';
  const { prepare, switchOver, migrate, nightly } = admin(site, server, database);
  const url = server.url(database);
  const store = openPostgresReader(url);
  t.after(() => store.close());
  const allRecords = async (): Promise<readonly JobRecord[]> => {
    const { records } = await store.records({ since: 0, until: Date.now() + 86_400_000, limit: 10_000 });
    return records.map(({ record }) => record);
  };
  const statuses = (records: readonly JobAttempt[]): readonly string[] => records.map(({ record }) => record.status);
  const inPostgres = async (job: string): Promise<readonly JobAttempt[]> =>
    (await store.job({ job_id: Number(job), all: true })).records;
  const awaitArrival = (job: string): Promise<true> =>
    until(
      async () => statuses(await inPostgres(job)).includes('finished'),
      async () => {
        const flushed = await Promise.all(cell.execHosts.map((host) => product.run(host, 'flush')));
        return `job ${job} in PostgreSQL; ${flushed.map(({ stdout, stderr }) => `${stdout}${stderr}`).join('; ')}`;
      },
    );
  const inFile = (job: string): Promise<readonly JobAttempt[]> => product.currentRecords(job);
  const submit = (user: string, host: string, script: string, ...words: readonly string[]): Promise<string> =>
    cell.submit(user, ['-q', `all.q@${host}`, '-l', 'h_vmem=600M', ...words], script);
  const go = (user: string, file: string): Promise<string> => cell.check(cell.master, `touch ~/${file}`, { user });

  /** Waits for heartbeats with samples of so many running tasks of a job. */
  const awaitHeartbeats = (job: string, found: typeof inPostgres, tasks = 1): Promise<true> =>
    until(
      async () =>
        (await found(job)).filter(({ record }) => record.status === 'running' && (record.samples ?? 0) > 0).length >=
        tasks,
      () => `${tasks} heartbeats of job ${job}`,
    );

  // Before the move: the site has an SQLite file.
  const long = [
    await submit('gealice', 'ge1', waitForFile('first'), '-N', 'long1'),
    await submit('gebob', 'ge2', waitForFile('second'), '-N', 'long2'),
  ] as const;
  const between = await submit('gealice', 'ge2', waitForFile('first'), '-N', 'between');
  const early = await submit('gealice', 'ge1', waitForFile('early'), '-N', 'array', '-t', '1-3');
  const fails = await submit('gebob', 'ge2', `${waitForFile('early')}; exit 3`, '-N', 'fails', '-pe', 'smp', '2');
  for (const job of [...long, between, fails]) await awaitHeartbeats(job, inFile);
  await awaitHeartbeats(early, inFile, 3);
  for (const user of OWNERS) await go(user, 'early');
  for (const job of [early, fails]) await cell.waitFinished(job);
  await product.records(early, 3);
  await product.records(fails);
  assert.match((await product.run('ge1', 'import')).stdout, / 0 records added, 4 joined/);

  // The move, with jobs running, one host after the other.
  await prepare();
  const first = await migrate();
  assert.deepEqual([first.complete, first.refused, first.added, first.files], [true, [], 7, 1]);
  await switchOver('ge1');
  await go('gealice', 'first');
  for (const job of [between, long[0]]) await cell.waitFinished(job);
  await product.records(between);
  await switchOver('ge2');
  await go('gebob', 'second');
  const late = [
    await submit('gealice', 'ge2', waitForFile('late'), '-N', 'late'),
    await submit('gebob', 'ge1', waitForFile('late'), '-N', 'late'),
  ] as const;
  for (const job of late) await awaitHeartbeats(job, inPostgres);
  for (const user of OWNERS) await go(user, 'late');
  for (const job of [long[1], ...late]) await cell.waitFinished(job);
  for (const job of [...long, ...late]) await awaitArrival(job);
  // Samplers that had started with the old file delivered to the new database.
  for (const job of long) assert.deepEqual(statuses(await inFile(job)), ['running']);
  for (const job of late) assert.deepEqual(await inFile(job), []);

  // After the move: records that came late, then the lines that were not imported into the old file.
  const hash = (): string => createHash('sha256').update(readFileSync(product.accounting)).digest('hex');
  const before = hash();
  const second = await migrate();
  assert.deepEqual([second.complete, second.refused, second.added, second.files], [true, [], 0, 0]);
  assert.equal(hash(), before, 'migrate changed the old file');
  assert.match(await nightly('import'), /^5 lines, 0 records added, 5 joined/);
  assert.match((await product.run('ge1', '--config', NIGHTLY, 'import')).stdout, /^nothing new/);
  const third = await migrate();
  assert.deepEqual([third.added, third.changed, third.files], [0, 0, 0]);

  const records = await allRecords();
  assert.equal(records.length, 9);
  assert.equal(new Set(records.map((record) => `${record.job_id}.${record.task_id ?? 0}`)).size, 9);
  for (const record of records) {
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root', `job ${record.job_id}: ${record.trust}`);
    assert.ok((record.samples ?? 0) > 0 && (record.peak_rss?.lower_bytes ?? 0) > 0, `job ${record.job_id}: no samples`);
    assert.equal(record.grid_engine?.lines, 1);
  }
  for (const owner of OWNERS) {
    const theirs = await qacctSums(cell, owner, cell.layout.accounting);
    const ours = recordSums(records, owner);
    assert.ok(theirs.wallclock > 0);
    assert.deepEqual([ours.lines, ours.wallclock], [theirs.lines, theirs.wallclock], owner);
    // qacct prints milliseconds, and each record is in whole ones.
    assert.ok(
      Math.abs(ours.cpu - theirs.cpu) < 0.001 + 0.0005 * ours.lines,
      `${owner}: CPU ${ours.cpu}, qacct ${theirs.cpu}`,
    );
    const said = JSON.parse(await nightly('owner', owner, '--json')) as { readonly records: readonly unknown[] };
    assert.equal(said.records.length, theirs.lines);
  }
  assert.match(await nightly('job', long[0]), /long1/);
  const report = JSON.parse(await nightly('report', '--since', '1h', '--format', 'json')) as Report;
  assert.deepEqual([report.site.jobs, report.coverage.sampled], [9, 9]);
}

describe('a site on a real Grid Engine', () => {
  it('moves from SQLite to PostgreSQL while jobs run', { timeout: 2_000_000, skip: noPostgres }, (t) =>
    withSite(t, { settings: 'heartbeat = 1\ndelivery_jitter_ms = 0' }, async (site) => {
      const server = await startServer({ shared: true, access: ACCESS });
      try {
        await siteMoves(t, site, server);
      } finally {
        await server.remove();
      }
    }),
  );
});

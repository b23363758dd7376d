import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import type { JobRecord } from '../../../src/record/record';
import { AccountingThread } from '../../../src/server/accounting/accounting-thread';
import { noPostgres, startServer, type Server } from '../../accounting/postgres/server';
import { NOW, startTestSite } from '../test-site';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { killedAtLimit, ordinary } from '../../report/sample-records';
import { DAEMON, NOBODY, notRoot, qmemacct, startServing } from '../../support/qmemacct';

const HOUR = 3_600_000;

const at = (hoursAgo: number): string => new Date(NOW - hoursAgo * HOUR).toISOString();

function job(job_id: number, owner: string, more: Partial<JobRecord> = {}): JobRecord {
  const times = { submitted_at: at(30), started_at: at(28), ended_at: at(job_id), revision: NOW - HOUR };
  return { ...ordinary, ...times, job_id, owner, job_name: `work-of-${owner}`, project: 'genome', ...more };
}

const RECORDS = [
  job(1, 'nobody'),
  job(2, 'daemon', { queue: 'long.q', host: 'node2' }),
  job(3, 'daemon', { ...killedAtLimit, job_id: 3, owner: 'daemon', ended_at: at(3) }),
  job(4, 'nobody', { status: 'running', ended_at: null, series: null }),
];

const QUESTIONS = [
  '/v1/job/1',
  '/v1/job/3',
  '/v1/job/99',
  '/v1/owner/daemon?since=7d',
  '/v1/records?since=7d',
  '/v1/records?since=7d&owner=daemon&sort=peak&limit=1',
  '/v1/records?since=7d&failed=true&host=node2',
  '/v1/summary?since=7d',
  '/v1/summary?since=7d&by=day&queue=long.q',
  '/v1/running?since=3d',
];

const OUT_OF_PATIENCE = 'the accounting DB has not answered for';

/** The reasons of a bracket are a set: each store has its own order. */
const parsed = (text: string): unknown =>
  JSON.parse(text, (key, value: unknown) => (key === 'open' && Array.isArray(value) ? value.toSorted() : value));

describe('a server over PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => {
    server = await startServer({
      shared: true,
      access: ['local all site_admin,hooks trust', 'local all all peer'],
    });
  });
  after(() => server.remove());

  async function filled(): Promise<string> {
    const url = server.url(await server.database());
    const store = openPostgresHistory(url);
    await store.merge(RECORDS);
    await store.rollUp({});
    await store.close();
    return url;
  }

  it('knows a role that may log in but not read', async (t) => {
    const database = await server.database();
    await server.run(database, 'CREATE ROLE hooks LOGIN IN ROLE qmemacct_deliver');
    const path = server.url(database, 'hooks');
    const accounting = new AccountingThread({ path });
    t.after(() => accounting.stop());
    await accounting.probe();
    assert.match(accounting.problem() ?? '', /permission denied/);
  });

  it('answers as a server over SQLite does', async (t) => {
    const accounting = await filled();
    const [sqlite, postgres] = [
      await startTestSite(t, { records: RECORDS }),
      await startTestSite(t, { settings: { accounting } }),
    ];
    for (const question of QUESTIONS) {
      const [there, here] = [await sqlite.get(question), await postgres.get(question)];
      assert.deepEqual([here.status, parsed(here.text)], [there.status, parsed(there.text)]);
    }
  });

  it('shows two users without a database login their own jobs', { skip: notRoot }, async (t) => {
    const directory = temporaryDirectory(0o755);
    const config = join(directory, 'qmemacct.toml');
    // The server connects as site_admin, whoever asks; the users have no role in the database.
    const url = await filled();
    const lines = (accounting: string): string =>
      [
        `accounting = "${accounting}"`,
        'visibility = "own"',
        `run_dir = "${directory}/none"`,
        `serve_socket = "${directory}/serve.sock"`,
        'serve_port = 0',
      ].join('\n');
    writeFileSync(config, lines(url));
    const serving = await startServing(t, config);
    writeFileSync(config, lines(url.replace('site_admin@', '')));
    const run = (uid: number, ...words: readonly string[]): ReturnType<typeof qmemacct> =>
      qmemacct(['--config', config, ...words], { uid });
    const numbers = (uid: number): readonly number[] => {
      const { status, stdout, stderr } = run(uid, 'jobs', '--since', '3650d', '--json');
      assert.equal(status, 0, stderr);
      const { records } = JSON.parse(stdout) as { readonly records: readonly JobRecord[] };
      return records.map(({ job_id: id }) => id).toSorted((a, b) => a - b);
    };
    assert.deepEqual(numbers(NOBODY), [1, 4]);
    assert.deepEqual(numbers(DAEMON), [2, 3]);
    assert.equal(run(NOBODY, 'job', '2').status, 3, 'nobody can be asked whether it waits');
    serving.child.kill('SIGTERM');
    await once(serving.child, 'exit');
    const alone = run(NOBODY, 'job', '1');
    assert.equal(alone.status, 3);
    assert.match(alone.stderr, /denies this user access .*; no "qmemacct serve" at .* answers for it/);
  });

  it('says why it cannot answer, and answers again once PostgreSQL does', async (t) => {
    const site = await startTestSite(t, { settings: { accounting: await filled() } });
    const status = async (): Promise<number> => (await site.get('/v1/job/1')).status;
    assert.equal(await status(), 200);
    await server.stop('SIGQUIT');
    for (const question of ['/v1/job/1', '/v1/summary?since=7d']) {
      const away = await site.get(question);
      assert.equal(away.status, 503);
      assert.match(away.text, /the accounting DB: the server (?:does not answer|is starting or stopping)/);
    }
    await server.start();
    assert.equal(await status(), 200);
  });

  it('gives up on a PostgreSQL that no longer responds', async (t) => {
    const question = { what: 'summary', query: { since: 0, until: NOW, by: 'owner', limit: 9 } } as const;
    // On a busy machine the thread may not answer, or report the silence, within its patience.
    for (let patienceMs = 3000, isReported = false; !isReported; patienceMs *= 3) {
      assert.ok(patienceMs < 100_000);
      const path = await filled();
      const accounting = new AccountingThread({ path, patienceMs });
      t.after(() => accounting.stop());
      const answer = (): Promise<string> => accounting.ask(question, { level: 'all' }).then(String, String);
      if (!(await answer()).includes('"groups":[')) continue;
      const database = path.split(/[/?]/)[3] ?? '';
      const sessions = `SELECT pid FROM pg_stat_activity WHERE application_name = 'qmemacct' AND datname = '${database}'`;
      // The thread's session: the one that filled the database ends by itself.
      const { pid } = await until(async () => {
        const [backend, ...others] = (await server.run('postgres', sessions)) as readonly { readonly pid: number }[];
        assert.ok(backend !== undefined);
        return others.length === 0 && backend;
      });
      process.kill(pid, 'SIGSTOP');
      t.after(() => process.kill(pid, 'SIGCONT'));
      const silent = await answer();
      if (silent.includes(OUT_OF_PATIENCE)) continue;
      assert.match(silent, /the server stopped answering; check that it runs, and /);
      isReported = (await answer()).includes('"groups":[');
    }
  });
});

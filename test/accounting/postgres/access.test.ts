import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresFeed } from '../../../src/accounting/postgres/feed';
import { Merger } from '../../../src/accounting/postgres/merger';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { initDatabase } from '../../../src/accounting/postgres/schema';
import { StoreError } from '../../../src/accounting/store-error';
import { nodeRow } from '../../../src/accounting/node-row';
import { statusOf } from '../suite/node-suite';
import type { JobRecord } from '../../../src/record/record';
import { DAY, HOUR, job } from '../suite/fixture';
import { readPages } from '../suite/pages-suite';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

/** Recent, since a project is shared by users with recent jobs in it. */
const T0 = Date.now() - HOUR;

describe('access to an accounting DB in PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  let name: string;
  before(async () => {
    server = await startServer();
    name = await server.database();
    for (const [role, group] of [
      ['hooks', 'qmemacct_deliver'],
      ['reports', 'qmemacct_read'],
      ['bob', 'qmemacct_own'],
      ['eve', 'qmemacct_project'],
    ])
      await server.run(name, `CREATE ROLE ${role ?? ''} LOGIN IN ROLE ${group ?? ''}`);
    await server.run(name, 'CREATE ROLE stranger LOGIN');
    const store = openPostgresHistory(server.url(name));
    await store.merge([
      job(1, T0, { owner: 'bob', project: 'physics' }),
      job(2, T0, { owner: 'eve', project: 'physics' }),
      job(3, T0, { owner: 'mallory', project: 'biology' }),
      job(4, T0, { owner: 'mallory', project: 'physics', status: 'running', ended_at: null }),
    ]);
    await store.close();
  });
  after(() => server.remove());

  const attempt = async (role: string, sql: string): Promise<unknown> => {
    const db = connect(server.url(name, role));
    try {
      return await db.query(sql);
    } finally {
      await db.close();
    }
  };
  const refused = (error: unknown): boolean =>
    error instanceof StoreError && error.reason.includes('may not do that') && !error.retry;

  it("allows the hooks' role only the functions deliver and heartbeat", async (t) => {
    const one = JSON.stringify([job(9, T0)]).replaceAll("'", "''");
    await attempt('hooks', `SELECT qmemacct.deliver('${one}')`);
    const heard = `SELECT qmemacct.heartbeat('${JSON.stringify(nodeRow(statusOf('node1')))}', 1000)`;
    await attempt('hooks', heard);
    for (const role of ['stranger', 'reports']) await assert.rejects(attempt(role, heard), refused);
    for (const role of ['reports', 'bob', 'eve']) {
      const [node] = (await attempt(role, 'SELECT host, heartbeat_at, clock_offset_ms FROM qmemacct.node')) as {
        readonly heartbeat_at: number;
        readonly clock_offset_ms: number;
      }[];
      // heartbeat_at is by the server's clock, not the caller's.
      assert.equal(node?.clock_offset_ms, 1000 - (node?.heartbeat_at ?? 0));
    }
    for (const unreadable of [{ last_job_at: 9e15 }, { host: '' }, { version: 'x'.repeat(5000) }]) {
      const status = JSON.stringify({ ...nodeRow(statusOf('node2')), ...unreadable });
      await attempt('hooks', `SELECT qmemacct.heartbeat('${status}', 1000)`);
    }
    const reader = openPostgresReader(server.url(name, 'reports'));
    t.after(() => reader.close());
    assert.deepEqual(
      (await reader.nodes({ since: 0 })).map(({ host }) => host),
      ['node1'],
    );
    for (const sql of [
      'SELECT * FROM qmemacct.record',
      'SELECT * FROM qmemacct.owner',
      'SELECT * FROM qmemacct.inbox',
      'SELECT * FROM qmemacct.node',
      'DELETE FROM qmemacct.node',
      'SELECT * FROM qmemacct.visible_inbox',
      'SELECT * FROM qmemacct.jobs',
      'DELETE FROM qmemacct.stale_hour',
      'DELETE FROM qmemacct.inbox',
      "UPDATE qmemacct.inbox SET account = ''",
      "INSERT INTO qmemacct.owner (name) VALUES ('bob')",
      'CREATE TABLE qmemacct.mine (a integer)',
      'ALTER FUNCTION qmemacct.deliver(jsonb) SECURITY INVOKER',
      'SET ROLE qmemacct_owner',
    ])
      await assert.rejects(attempt('hooks', sql), refused, sql);
    await assert.rejects(attempt('stranger', `SELECT qmemacct.deliver('${one}')`), refused);
    await assert.rejects(attempt('reports', `SELECT qmemacct.deliver('${one}')`), refused);
  });

  it('allows the feed only to a role that reads all records', async (t) => {
    const feed = openPostgresFeed(server.url(name, 'reports'), {});
    t.after(() => feed.close());
    const last = (await feed.after(0, 100)).at(-1);
    assert.deepEqual([await feed.newest(), (await feed.identity()).length], [last?.id, 32]);
    const own = openPostgresFeed(server.url(name, 'bob'), {});
    t.after(() => own.close());
    await assert.rejects(own.newest(), refused);
  });

  it('does not use what a caller puts into pg_temp or the search path', async () => {
    const one = JSON.stringify([job(10, T0)]).replaceAll("'", "''");
    const db = connect(server.url(name, 'hooks'));
    try {
      await db.query('SET search_path = pg_temp, qmemacct');
      await db.query('CREATE TEMP TABLE inbox (key text UNIQUE, account text)');
      await db.query("CREATE FUNCTION pg_temp.md5(text) RETURNS text LANGUAGE sql AS 'SELECT NULL::text'");
      await db.query(`SELECT qmemacct.deliver('${one}')`);
      assert.deepEqual(await db.query('SELECT * FROM pg_temp.inbox'), []);
      assert.equal((await server.run(name, 'SELECT FROM qmemacct.inbox WHERE job_id = 10')).length, 1);
    } finally {
      await db.close();
    }
  });

  it('lets no other role take the lock of its writers', async (t) => {
    const db = connect(server.url(name));
    t.after(() => db.close());
    const locks = `SELECT relation::regclass::text AS relation FROM pg_locks
      WHERE pid = pg_backend_pid() AND (locktype = 'advisory' OR mode = 'ShareRowExclusiveLock')`;
    assert.deepEqual(
      [...(await new Merger(db).alone((inner) => inner.query(locks)))],
      [{ relation: 'qmemacct.schema_version' }],
    );
    for (const role of ['hooks', 'reports', 'bob', 'eve'])
      await assert.rejects(
        attempt(role, "DO 'BEGIN LOCK TABLE qmemacct.schema_version IN ROW SHARE MODE; END'"),
        refused,
      );
  });

  it('ends a writer that keeps the lock and says nothing more', async (t) => {
    const db = connect(server.url(name));
    t.after(() => db.close());
    const shown = await new Merger(db).alone((inner) => inner.rows('SHOW idle_in_transaction_session_timeout'));
    assert.deepEqual(shown, [['2min']]);
  });

  it('calls no function that a role may have made in public', async (t) => {
    await server.run(name, 'GRANT CREATE ON SCHEMA public TO hooks');
    // For an integer it would be preferred to PostgreSQL's own, which takes a bigint.
    await attempt(
      'hooks',
      `CREATE FUNCTION public.pg_advisory_xact_lock(integer) RETURNS void LANGUAGE plpgsql AS 'BEGIN RAISE ''called''; END'`,
    );
    const history = openPostgresHistory(server.url(name));
    const admin = connect(server.url(name));
    t.after(() => Promise.all([history.close(), admin.close()]));
    await history.settle();
    await initDatabase(admin);
  });

  it('shows each role only its own records, or those of its projects', async (t) => {
    for (const [role, expected] of [
      ['reports', [1, 2, 3, 4]],
      ['bob', [1]],
      ['eve', [1, 2, 4]],
    ] as const) {
      const reader = openPostgresReader(server.url(name, role));
      t.after(() => reader.close());
      const interval = { since: T0 - DAY, until: T0 + DAY };
      const found = await reader.records({ ...interval, limit: 100 });
      const mine = found.records
        .map(({ record }) => record.job_id)
        .filter((id) => id < 9 && expected.includes(id as never));
      assert.deepEqual(mine.sort(), [...expected]);
      const byKey = (records: readonly JobRecord[]): readonly string[] =>
        records.map((one) => JSON.stringify(one)).sort();
      assert.deepEqual(byKey(await readPages(reader, interval)), byKey(found.records.map(({ record }) => record)));
      assert.ok(found.records.every(({ record }) => role === 'reports' || record.owner === role || role === 'eve'));
      if (role === 'bob') assert.ok(found.records.every(({ record }) => record.owner === 'bob'));
      if (role !== 'reports') assert.equal((await reader.job({ job_id: 3 })).records.length, 0);
      const { groups } = await reader.summary({ ...interval, by: 'owner' });
      assert.equal(
        groups.some(({ key }) => key === 'mallory'),
        role !== 'bob',
      );
      assert.equal((await reader.running({ since: 0 })).length, role === 'bob' ? 0 : 1);
    }
  });

  it('refuses malformed and too large records, and a self-reported one overwrites no better one', async (t) => {
    const store = openPostgresStore(server.url(name, 'hooks'));
    t.after(() => store.close());
    const bad = [
      { ...job(20, T0), job_id: -1 },
      { ...job(20, T0), cpu_seconds: -1 },
      { ...job(20, T0), revision: 9e15 },
      { ...job(20, T0), cpu_seconds: 'NaN' as unknown as number },
      { ...job(20, T0), trust: 'god' as 'root' },
      { ...job(20, T0), owner: 'x'.repeat(5000) },
      { ...job(20, T0), ended_at: '2026-02-30T00:00:00Z' },
      { ...job(20, T0), requests: { 'a b': { request_bytes: 1, limit_bytes: 1, per: 'job' as const } } },
      { ...job(20, T0), metrics: { Bad: 1 } },
      { ...job(20, T0), notes: Array.from({ length: 65 }, () => 'x') },
      { ...job(20, T0), notes: ['x'.repeat(5000)] },
      { ...job(20, T0), peak_rss: { ...(job(20, T0).peak_rss ?? assert.fail()), open: ['why' as 'exec'] } },
      null as unknown as ReturnType<typeof job>,
    ];
    const outcomes = await store.merge([...bad, job(21, T0)]);
    assert.deepEqual(
      outcomes.map(({ ok }) => ok),
      [...bad.map(() => false), true],
    );
    const large = `'${JSON.stringify(job(20, T0))}' || jsonb_build_object('more', repeat('x', 1048576))`;
    await assert.rejects(attempt('hooks', `SELECT qmemacct.deliver(jsonb_build_array(${large}))`), /check constraint/);
    // Readers would ask for it as a number of JSON, which bigint does not take.
    const last = `'${JSON.stringify(job(20, T0))}' || jsonb_build_object('job_id', 9223372036854775807)`;
    await assert.rejects(attempt('hooks', `SELECT qmemacct.deliver(jsonb_build_array(${last}))`), /check constraint/);
    const host = `'${JSON.stringify(nodeRow(statusOf('node3')))}' || jsonb_build_object('version', repeat('x', 1048576))`;
    await assert.rejects(attempt('hooks', `SELECT qmemacct.heartbeat(${host}, 1000)`), /check constraint/);
    const forged = {
      ...job(1, T0 + 9),
      trust: 'self-reported' as const,
      owner: 'hooks',
      peak_rss: null,
      cpu_seconds: 9,
    };
    await store.merge([forged]);
    const reader = openPostgresReader(server.url(name));
    t.after(() => reader.close());
    const [first] = (await reader.job({ job_id: 1 })).records;
    assert.deepEqual([first?.record.owner, first?.record.cpu_seconds], ['bob', 1800]);
    assert.equal((await reader.job({ job_id: 20 })).records.length, 0);
  });

  it('shows each role only its own records in the inbox, and no tables', async (t) => {
    const hooks = openPostgresStore(server.url(name, 'hooks'));
    t.after(() => hooks.close());
    const waiting = [
      job(31, T0, { owner: 'bob', job_name: 'mine' }),
      job(32, T0, { owner: 'mallory', job_name: 'secret', project: 'biology' }),
      job(33, T0, { owner: 'mallory', project: 'physics', status: 'running', ended_at: null }),
    ];
    assert.ok((await hooks.merge(waiting)).every(({ ok }) => ok));
    for (const [role, expected] of [
      ['reports', [31, 32, 33]],
      ['bob', [31]],
      ['eve', [33]],
    ] as const) {
      const reader = openPostgresReader(server.url(name, role));
      t.after(() => reader.close());
      const { records } = await reader.records({ since: T0 - DAY, until: T0 + DAY, limit: 100 });
      const seen = records.map(({ record }) => record.job_id).filter((id) => id > 30 && id < 40);
      assert.deepEqual(seen.sort(), [...expected], role);
      for (const { job_id } of waiting) {
        const { length } = (await reader.job({ job_id })).records;
        assert.equal(length, expected.includes(job_id as never) ? 1 : 0, `${role} ${job_id}`);
      }
    }
    for (const role of ['bob', 'eve'])
      for (const table of ['job_name', 'owner', 'notes', 'record', 'named_record', 'inbox', 'rollup', 'series'])
        await assert.rejects(attempt(role, `SELECT * FROM qmemacct.${table}`), refused, `${role} ${table}`);
    assert.deepEqual(await attempt('bob', 'SELECT DISTINCT owner FROM qmemacct.jobs'), [{ owner: 'bob' }]);
    assert.deepEqual(await attempt('bob', 'SELECT DISTINCT owner FROM qmemacct.visible_record'), [{ owner: 'bob' }]);
  });

  it('is set up once by several admins at the same time, and a missing one is reported', async () => {
    await server.run('postgres', 'CREATE DATABASE bare');
    const empty = openPostgresReader(server.url('bare'));
    await assert.rejects(
      empty.job({ job_id: 1 }),
      /no tables of this qmemacct .*; an admin runs "qmemacct database init/,
    );
    await empty.close();
    const admins = [1, 2, 3].map(() => connect(server.url('bare')));
    const steps = await Promise.all(admins.map((db) => initDatabase(db)));
    assert.equal(steps.filter(({ before: version }) => version === 0).length, 1);
    assert.equal(new Set(steps.map(({ after: version }) => version)).size, 1);
    await Promise.all(admins.map((db) => db.close()));
    const gone = openPostgresReader(server.url('nowhere'));
    await assert.rejects(gone.job({ job_id: 1 }), /there is no such database .*createdb/s);
    await gone.close();
    const away = openPostgresReader('postgres://bob@/x?host=/nonexistent');
    await assert.rejects(away.job({ job_id: 1 }), (error) => error instanceof StoreError && error.retry);
    await away.close();
  });
});

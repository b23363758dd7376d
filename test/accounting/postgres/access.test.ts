import assert from 'node:assert/strict';
import { after, before, describe, it } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { initDatabase } from '../../../src/accounting/postgres/schema';
import { StoreError } from '../../../src/accounting/store-error';
import { DAY, HOUR, job } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';

/** Projects are shared by who had jobs in them lately. */
const T0 = Date.now() - HOUR;

describe('who may do what in PostgreSQL', { skip: noPostgres }, () => {
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
    const store = openPostgresStore(server.url(name));
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

  it("gives the hooks' role the one function, and nothing else", async () => {
    const one = JSON.stringify([job(9, T0)]).replaceAll("'", "''");
    await attempt('hooks', `SELECT qmemacct.deliver('${one}')`);
    for (const sql of [
      'SELECT * FROM qmemacct.job_record',
      'SELECT * FROM qmemacct.word',
      'DELETE FROM qmemacct.stale_day',
      "SELECT qmemacct.word_id('o', 'bob')",
      'SELECT qmemacct.read_job(1, NULL, NULL)',
      'SELECT qmemacct.ensure_month(202601)',
      'CREATE TABLE qmemacct.mine (a integer)',
      'ALTER FUNCTION qmemacct.deliver(jsonb) SECURITY INVOKER',
      'SET ROLE qmemacct_owner',
    ])
      await assert.rejects(attempt('hooks', sql), refused, sql);
    await assert.rejects(attempt('stranger', `SELECT qmemacct.deliver('${one}')`), refused);
    await assert.rejects(attempt('reports', `SELECT qmemacct.deliver('${one}')`), refused);
  });

  it('is not misled by what the caller puts into pg_temp or the search path', async () => {
    const one = JSON.stringify([job(10, T0)]).replaceAll("'", "''");
    const db = connect(server.url(name, 'hooks'));
    try {
      await db.query('SET search_path = pg_temp, qmemacct');
      await db.query('CREATE TEMP TABLE word (id integer, kind "char", text text)');
      await db.query('CREATE TEMP TABLE job_month (block bigint, key_month integer)');
      await db.query(`SELECT qmemacct.deliver('${one}')`);
      assert.deepEqual(await db.query('SELECT * FROM pg_temp.word'), []);
    } finally {
      await db.close();
    }
  });

  it('shows each what is theirs', async (t) => {
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

  it('refuses what is malformed or too large, and what would overwrite a better rank', async (t) => {
    const store = openPostgresStore(server.url(name, 'hooks'));
    t.after(() => store.close());
    const bad = [
      { ...job(20, T0), job_id: -1 },
      { ...job(20, T0), cpu_seconds: -1 },
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

  it('makes no table of a month that only a user tells of', async (t) => {
    const store = openPostgresStore(server.url(name, 'hooks'));
    t.after(() => store.close());
    const months = async (): Promise<readonly object[]> =>
      server.run(name, `SELECT relname FROM pg_class WHERE relname ~ '^job_record_\\d+$' ORDER BY 1`);
    const before = await months();
    const invented = [2003, 2011, 2019].map((year) =>
      job(year, Date.UTC(year, 3, 5), { trust: 'self-reported', owner: 'mallory' }),
    );
    const outcomes = await store.merge(invented);
    assert.ok(outcomes.every(({ ok }) => ok));
    assert.deepEqual(
      (await months()).filter((month) => !before.some((known) => isDeepStrictEqual(known, month))),
      [{ relname: 'job_record_0' }],
    );
    const reader = openPostgresReader(server.url(name));
    t.after(() => reader.close());
    for (const { job_id } of invented) assert.equal((await reader.job({ job_id })).records.length, 1);
  });

  it('is set up once, however many try, and says what is wrong where it is not', async () => {
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
    await assert.rejects(gone.job({ job_id: 1 }), /there is no such database/);
    await gone.close();
    const away = openPostgresReader('postgres://bob@/x?host=/nonexistent');
    await assert.rejects(away.job({ job_id: 1 }), (error) => error instanceof StoreError && error.retry);
    await away.close();
  });
});

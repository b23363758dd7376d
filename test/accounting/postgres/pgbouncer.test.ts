import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chmodSync, existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { StoreError } from '../../../src/accounting/store-error';
import { job, T0 } from '../suite/fixture';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { noPostgres, startServer, type Server } from './server';

const PROGRAM = '/usr/sbin/pgbouncer';
const PORT = 6432;
const PASSWORD = 'secret';
const HOSTS = 40;
const PER_HOST = 3;

const skip = noPostgres || (existsSync(PROGRAM) ? false : `${PROGRAM} is not installed`);

describe('PgBouncer in transaction mode', { skip }, () => {
  const directory = temporaryDirectory();
  const credentials = join(directory, 'pgpass');
  let server: Server;
  let bouncer: ChildProcess;

  before(async () => {
    server = await startServer({ shared: true, access: ['local all site_admin trust', 'local all all scram-sha-256'] });
    for (const role of ['hooks', 'merger'])
      await server.run('postgres', `CREATE ROLE ${role} LOGIN PASSWORD '${PASSWORD}'`);
    writeFileSync(credentials, `*:${PORT}:*:*:${PASSWORD}\n`, { mode: 0o600 });
    const users = join(directory, 'users.txt');
    writeFileSync(users, `"hooks" "${PASSWORD}"\n"merger" "${PASSWORD}"\n`);
    const settings = join(directory, 'pgbouncer.ini');
    writeFileSync(
      settings,
      [
        '[databases]',
        `* = host=${server.directory}`,
        '[pgbouncer]',
        'listen_addr =',
        `listen_port = ${PORT}`,
        `unix_socket_dir = ${directory}`,
        'auth_type = scram-sha-256',
        `auth_file = ${users}`,
        'pool_mode = transaction',
        'default_pool_size = 2',
        'server_login_retry = 1',
        'query_wait_timeout = 5',
        '',
      ].join('\n'),
    );
    chmodSync(directory, 0o777);
    // PgBouncer refuses to run as root.
    const user = process.geteuid?.() === 0 ? ['-u', 'postgres'] : [];
    bouncer = spawn(PROGRAM, ['-q', ...user, settings], { stdio: 'ignore' });
    await until(() => existsSync(join(directory, `.s.PGSQL.${PORT}`)), 'pgbouncer');
  });
  after(async () => {
    const ended = once(bouncer, 'exit');
    bouncer.kill('SIGKILL');
    await ended;
    await server.remove();
  });

  async function database(): Promise<string> {
    const name = await server.database();
    await server.run(name, 'GRANT qmemacct_deliver TO hooks');
    await server.run(name, 'GRANT qmemacct_owner TO merger');
    return name;
  }

  const through = (name: string, role: string): string =>
    `postgres://${role}@/${name}?host=${encodeURIComponent(directory)}&port=${PORT}`;

  it('passes on what many hosts deliver at once, settling and reading', async () => {
    const name = await database();
    const deliverFrom = async (host: number): Promise<void> => {
      const store = openPostgresStore(through(name, 'hooks'), { credentials });
      const records = Array.from({ length: PER_HOST }, (_, n) =>
        job(1 + host * PER_HOST + n, T0, { host: `node${host}` }),
      );
      try {
        assert.ok((await store.merge(records)).every(({ ok }) => ok));
      } finally {
        await store.close();
      }
    };
    await Promise.all(Array.from({ length: HOSTS }, (_, host) => deliverFrom(host)));
    const history = openPostgresHistory(through(name, 'merger'), { credentials });
    try {
      await history.settle({});
      const { groups } = await history.summary({ by: 'host', since: T0 - 1, until: T0 + 1 });
      assert.deepEqual(new Set(groups.map(({ totals }) => totals.records)), new Set([PER_HOST]));
      assert.equal(groups.length, HOSTS);
    } finally {
      await history.close();
    }
  });

  it('gives a temporary fault while its server is down, and delivers afterwards', async () => {
    const name = await database();
    const store = openPostgresStore(through(name, 'hooks'), { credentials });
    try {
      assert.ok((await store.merge([job(1, T0)])).every(({ ok }) => ok));
      await server.stop('SIGQUIT');
      await assert.rejects(store.merge([job(2, T0)]), (error) => error instanceof StoreError && error.retry);
      await server.start();
      await until(async () => (await store.merge([job(2, T0)]).catch(() => [])).some(({ ok }) => ok), 'delivery');
    } finally {
      await store.close();
    }
    const reader = openPostgresReader(through(name, 'merger'), { credentials });
    try {
      for (const id of [1, 2]) assert.equal((await reader.job({ job_id: id })).records.length, 1);
    } finally {
      await reader.close();
    }
  });
});

import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { connect } from '../../../src/accounting/postgres/connect';
import { openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import { initDatabase } from '../../../src/accounting/postgres/schema';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { settleInbox } from '../../../src/server/accounting/settle-inbox';
import { noPostgres, startServer, type Server } from '../../accounting/postgres/server';
import { job, T0 } from '../../accounting/suite/fixture';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

const EVERY_MS = 5;

describe('settling the inbox', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => {
    server = await startServer({ access: ['local all settler scram-sha-256', 'local all all trust'] });
  });
  after(() => server.remove());

  const deliver = async (name: string, number: number): Promise<void> => {
    const hooks = openPostgresStore(server.url(name));
    await hooks.merge([job(number, T0)]);
    await hooks.close();
  };

  it('begins as soon as an admin has made the tables', async (t) => {
    const name = 'made_late';
    await server.run('postgres', `CREATE DATABASE ${name}`);
    const lines: string[] = [];
    const settings = { ...DEFAULT_SETTINGS, accounting: server.url(name) };
    const inbox = settleInbox(settings, (line) => lines.push(line), EVERY_MS);
    t.after(() => inbox.stop());
    await until(() => lines.length > 0, 'a problem');
    const db = connect(server.url(name));
    await initDatabase(db);
    await db.close();
    await deliver(name, 1);
    await until(() => inbox.counts()?.settled === 1, 'the account');
    assert.equal(lines.length, 2);
    assert.match(lines[0] ?? '', /^the inbox waits: .*it has no tables of this qmemacct/);
    assert.equal(lines[1], 'the inbox is emptied again');
  });

  it('goes on with the new password, and logs a wrong one once', async (t) => {
    const name = await server.database();
    const credentials = join(temporaryDirectory(), 'credentials');
    const write = (password: string): void => writeFileSync(credentials, `*:*:*:*:${password}\n`, { mode: 0o600 });
    write('old');
    await server.run(name, "CREATE ROLE settler LOGIN PASSWORD 'old' IN ROLE qmemacct_owner");
    const lines: string[] = [];
    const settings = {
      ...DEFAULT_SETTINGS,
      accounting: server.url(name, 'settler'),
      accounting_credentials: credentials,
    };
    const inbox = settleInbox(settings, (line) => lines.push(line), EVERY_MS);
    t.after(() => inbox.stop());
    await deliver(name, 1);
    await until(() => inbox.counts()?.settled === 1, 'the first account');
    await server.run(name, "ALTER ROLE settler PASSWORD 'new'");
    await server.run(name, "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'settler'");
    const isRejected = (line: string): boolean => line.includes('it rejects the password');
    await until(() => lines.some(isRejected), 'the password is rejected');
    write('new');
    await deliver(name, 2);
    await until(() => inbox.counts()?.settled === 2, 'the second account');
    assert.equal(lines.filter(isRejected).length, 1);
    assert.equal(lines.at(-1), 'the inbox is emptied again');
  });

  it('waits for a role that may only read, until that may do more', async (t) => {
    const name = await server.database();
    await server.run(name, 'CREATE ROLE reader LOGIN IN ROLE qmemacct_read');
    const lines: string[] = [];
    const settings = { ...DEFAULT_SETTINGS, accounting: server.url(name, 'reader') };
    const inbox = settleInbox(settings, (line) => lines.push(line), EVERY_MS);
    t.after(() => inbox.stop());
    await until(() => lines.length > 0, 'a problem');
    assert.match(lines.join('\n'), /^the inbox waits: .*this user may not do that/);
    assert.deepEqual(inbox.counts(), { settled: 0, unreadable: 0 });
    await deliver(name, 1);
    await server.run(name, 'GRANT qmemacct_owner TO reader');
    await until(() => inbox.counts()?.settled === 1, 'the account');
  });
});

import assert from 'node:assert/strict';
import { chmodSync, chownSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { asStored, mergeRecords } from '../../../src/record/merge';
import { openPostgresHistory } from '../../../src/accounting/postgres/postgres-history';
import { openPostgresReader, openPostgresStore } from '../../../src/accounting/postgres/postgres-store';
import type { JobRecord } from '../../../src/record/record';
import { realisticRecords, accountingLineOf, heartbeatOf } from '../realistic-record';
import { cannotRun, deliver, lineOf, startDeliverer, UNPRIVILEGED } from '../run-deliverer';
import { job, T0 } from '../suite/fixture';
import { noPostgres, startServer } from './server';
import type { Server } from './server';
import { temporaryDirectory } from '../../support/temporary-directory';

const PASSWORD = 'so:secret\\';

describe('delivery to PostgreSQL', { skip: noPostgres }, () => {
  let server: Server;
  before(async () => {
    server = await startServer({
      shared: true,
      access: ['local all site_admin trust', 'local all all scram-sha-256'],
    });
    await server.run('postgres', `CREATE ROLE hooks LOGIN PASSWORD '${PASSWORD}'`);
  });
  after(() => server.remove());

  /** Makes a database that hooks may deliver to. */
  async function newDatabase(): Promise<string> {
    const name = await server.database();
    await server.run(name, 'GRANT qmemacct_deliver TO hooks');
    return name;
  }

  function credentials(line: string, mode = 0o600): string {
    const directory = temporaryDirectory(0o711);
    const path = join(directory, 'pgpass');
    writeFileSync(path, `# for the hooks\n${line}\n`, { mode });
    chmodSync(path, mode);
    if (UNPRIVILEGED.uid !== undefined) chownSync(path, UNPRIVILEGED.uid, UNPRIVILEGED.gid);
    return path;
  }
  const goodLine = (): string => `*:5432:*:hooks:${PASSWORD.replace(/[\\:]/g, '\\$&')}`;

  it('is done by an unprivileged deliverer with the password from a file', { skip: cannotRun() }, async (t) => {
    const name = await newDatabase();
    const file = credentials(goodLine());
    const records = [job(1, T0), job(2, T0 + 1), { ...job(3, T0), started_at: 'yesterday' }];
    const { status, rows, complaints } = await deliver(server.url(name, 'hooks'), records, '--credentials', file);
    assert.deepEqual(complaints, []);
    assert.equal(status, 0);
    assert.deepEqual(rows.map(({ id, ok, retry }) => [id, ok, retry]).sort(), [
      [0, true, undefined],
      [1, true, undefined],
      [2, false, false],
    ]);
    const reader = openPostgresReader(server.url(name));
    t.after(() => reader.close());
    assert.deepEqual((await reader.job({ job_id: 2 })).records[0]?.record, job(2, T0 + 1));
  });

  it('gives rows back if the password is wrong or its file is readable by others', { skip: cannotRun() }, async () => {
    const name = await newDatabase();
    for (const [line, mode, complaint] of [
      ['*:*:*:hooks:guessed', 0o600, /rejects the password .*; check accounting_credentials/],
      [goodLine(), 0o640, /others can read the credentials; chmod 0600/],
    ] as const) {
      const file = credentials(line, mode);
      const { status, rows, complaints } = await deliver(
        server.url(name, 'hooks'),
        [job(1, T0)],
        '--credentials',
        file,
      );
      assert.equal(status, 3);
      assert.deepEqual(
        rows.map(({ ok, retry }) => [ok, retry]),
        [[false, true]],
      );
      assert.match(complaints.join(' '), complaint);
      assert.doesNotMatch(JSON.stringify([rows, complaints]), /guessed|so:secret/);
    }
  });

  it('goes on after the server was killed', { skip: cannotRun() }, async (t) => {
    const name = await newDatabase();
    const file = credentials(goodLine());
    const url = server.url(name, 'hooks');
    const { process: child, finished } = startDeliverer([
      '--accounting',
      url,
      '--credentials',
      file,
      '--patience',
      '60',
    ]);
    child.stdin.write(lineOf(1, job(1, T0)));
    await new Promise((resolve) => child.stdout.once('data', resolve));
    await server.stop('SIGKILL');
    child.stdin.end(lineOf(2, job(2, T0)));
    // The server process of this connection may live a little longer, and still take the record.
    await Promise.race([finished, new Promise((resolve) => child.stderr.once('data', resolve))]);
    await server.start();
    const { status, rows } = await finished;
    assert.equal(status, 0);
    assert.deepEqual(
      rows.map(({ id, ok }) => [id, ok]),
      [
        [1, true],
        [2, true],
      ],
    );
    const reader = openPostgresReader(server.url(name));
    t.after(() => reader.close());
    for (const id of [1, 2]) assert.equal((await reader.job({ job_id: id })).records.length, 1);
  });

  it('of the same jobs by several stores at once leaves the records that merging gives', async (t) => {
    const name = await server.database();
    const { next } = realisticRecords(3);
    const jobs = Array.from({ length: 20 }, next);
    const versions = [heartbeatOf, (record: JobRecord) => record, accountingLineOf];
    // Half of the stores write into the table, half into the inbox, which one more settles at the same time.
    const stores = Array.from({ length: 6 }, (_none, side) =>
      (side % 2 === 0 ? openPostgresHistory : openPostgresStore)(server.url(name)),
    );
    const merger = openPostgresHistory(server.url(name));
    t.after(() => Promise.all([merger, ...stores].map((store) => store.close())));
    let busy = true;
    const settling = (async () => {
      while (busy) await merger.settle();
    })();
    const outcomes = await Promise.all(
      stores.map((store, side) => {
        const records = versions.flatMap((version) => jobs.map(version));
        // Each store in its own order.
        const order = records.map(
          (_record, index) => records[(index * 7 + side * 11) % records.length] ?? assert.fail(),
        );
        return store.merge(order);
      }),
    );
    busy = false;
    await settling;
    assert.ok(outcomes.flat().every(({ ok }) => ok));
    // First with some of the records in the inbox, then with all in the table.
    for (let round = 0; round < 2; round++) {
      for (const record of jobs) {
        const expected = versions.map((version) => asStored(version(record))).reduce((a, b) => mergeRecords(a, b));
        const found = (
          await stores[0]?.job({
            job_id: record.job_id,
            ...(record.task_id === null ? {} : { task_id: record.task_id }),
          })
        )?.records;
        assert.equal(found?.length, 1);
        assert.deepEqual(found[0]?.record, expected.record);
      }
      await merger.settle();
    }
    const [left] = await server.run(name, 'SELECT count(*) AS rows FROM qmemacct.inbox WHERE ended');
    assert.deepEqual(left, { rows: 0 });
  });
});

import assert from 'node:assert/strict';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';

import { openSqliteReader, openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import type { AccountingReader } from '../../../src/accounting/store';
import { MANY_TASKS, readTasks } from '../../../src/accounting/tasks';
import { ARRAY_FIELDS, TASK_FIELDS } from '../../../src/report/job/array';
import { StoreError } from '../../../src/accounting/store-error';
import { parseRecord, type JobRecord } from '../../../src/record/record';
import { noTotals } from '../../../src/record/totals';
import { answerQuery } from '../../../src/server/accounting/answer-query';
import { MOST_RECORDS } from '../../../src/server/accounting/answer-shapes';
import {
  ClientError,
  newServerClient,
  type ServerAnswer,
  type ServerClient,
} from '../../../src/server/client/server-client';
import { openRemoteReader, RemoteReader } from '../../../src/server/client/remote-reader';
import { statusOf } from '../../accounting/suite/node-suite';
import { memoryReader } from '../../accounting/memory-reader';
import { MANY_OWNERS } from '../../report/many-owners';
import { arrayOfTwenty, firstRun, hostile, killedAtLimit, ordinary } from '../../report/sample-records';
import { serveOnSocket } from '../../live/snapshot-server';
import { memoryAccounting } from '../accounting/memory-accounting';
import { ask, startTestSite } from '../test-site';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { oneOf } from '../../tries';

const heartbeat = { ...ordinary, job_id: 77, status: 'running' as const, ended_at: null, run_id: '1f2e3d4c.7.7' };
/** A record merged from two: its accounting line has `failed`. */
const joined = { ...killedAtLimit, trust: 'accounting' as const, failed: 37, notes: [], series: null };
/** The records in their normal form. */
const RECORDS = [firstRun, ordinary, killedAtLimit, joined, ...arrayOfTwenty, heartbeat].map((given) => {
  const record = parseRecord(given);
  assert.ok(record.ok);
  return record.value;
});

interface Both {
  readonly remote: AccountingReader;
  readonly direct: AccountingReader;
}

async function both(t: TestContext): Promise<Both> {
  const site = await startTestSite(t, { records: RECORDS, settings: { serve_names: 'all' } });
  const remote = await openRemoteReader(site.socket);
  const path = join(site.directory, 'accounting.db');
  const store = openSqliteStore(path, 0o600);
  await store.saveHeartbeat(statusOf('node1'));
  await store.close();
  const direct = openSqliteReader(path);
  t.after(() => Promise.all([remote.close(), direct.close()]));
  return { remote, direct };
}

const OWNER = { owner: 'bob', since: 0, until: Date.UTC(2027, 0) };

/** A client of a server with records at these times that sends `page` at once; `asked`: the targets so far. */
function pagedClient(
  times: readonly number[],
  page: number,
): { readonly client: ServerClient; readonly asked: readonly string[] } {
  const asked: string[] = [];
  const get = (target: string): Promise<ServerAnswer> => {
    asked.push(target);
    if (target.startsWith('/v1/job/')) return Promise.resolve({ status: 413, json: { detail: 'too large' } });
    const query = new URLSearchParams(target.split('?')[1]);
    const [since, until] = [Number(query.get('since')), Number(query.get('until'))];
    const found = times.filter((at) => at >= since && at < until);
    const newest = found.slice(-page).toReversed();
    const records = newest.map((at) => ({ ...ordinary, series: null, revision: at, ended: true }));
    const totals = { ...noTotals(), records: found.length };
    return Promise.resolve({ status: 200, json: { schema: 1, records, totals, shown: 'all' } });
  };
  return { client: { socket: '/s', close: () => undefined, get }, asked };
}

describe('RemoteReader', () => {
  it('answers as a reader of the accounting DB does', async (t) => {
    const { remote, direct } = await both(t);
    const array = arrayOfTwenty[0]?.job_id ?? 0;
    for (const query of [
      { job_id: 4711 },
      { job_id: 4711, all: true },
      { job_id: 4712 },
      { job_id: array },
      { job_id: array, task_id: 3 },
      { job_id: 4711, at: Date.UTC(2020, 0) },
      { job_id: 4711, cluster: 'elsewhere' },
      { job_id: 99 },
    ])
      assert.deepEqual(await remote.job(query), await direct.job(query), JSON.stringify(query));
    const [merged] = (await remote.job({ job_id: 4712 })).records;
    assert.equal(merged?.record.failed, 37);
    for (const query of [
      OWNER,
      { ...OWNER, sort: 'unused' as const, limit: 3 },
      { ...OWNER, limit: 1_000_000_000 },
      { ...OWNER, cluster: 'biology' },
      { ...OWNER, owner: 'nobody/../x?y=1 %' },
    ])
      assert.deepEqual(await remote.records(query), await direct.records(query), JSON.stringify(query));
    const nodes = await remote.nodes({ since: 0 });
    assert.deepEqual(nodes, await direct.nodes({ since: 0 }));
    assert.deepEqual(
      nodes.map(({ host }) => host),
      ['node1'],
    );
    const running = await remote.running({ since: 0 });
    assert.deepEqual(running, await direct.running({ since: 0 }));
    assert.deepEqual(
      running.map(({ record }) => record.job_id),
      [77],
    );
  });

  it('reads the tasks of a large array as columns if the caller sees all of them', async (t) => {
    const tasks = Array.from({ length: MANY_TASKS + 1 }, (_none, index) => ({
      ...killedAtLimit,
      job_id: 9000,
      task_id: index + 1,
      run_id: `1f2e3d4c.${index}.1`,
      cpu_seconds: index,
      host: `node${index % 7}`,
    }));
    const site = await startTestSite(t, { records: tasks });
    const remote = await openRemoteReader(site.socket);
    const direct = openSqliteReader(join(site.directory, 'accounting.db'));
    t.after(() => Promise.all([remote.close(), direct.close()]));
    const query = { job_id: 9000, more_than: MANY_TASKS, fields: TASK_FIELDS, whole: ARRAY_FIELDS };
    const [found, expected] = await Promise.all([readTasks(remote, query), readTasks(direct, query)]);
    assert.ok(found !== null && expected !== null);
    assert.equal(found.cluster, expected.cluster);
    const plain = (records: Iterable<JobRecord>): readonly unknown[] =>
      [...records].map((record) => ARRAY_FIELDS.map((name) => record[name]));
    assert.deepEqual(plain(found.records()), plain(expected.records()));
    const numbers = tasks.map(({ task_id: task }) => task);
    assert.deepEqual(plain(await found.whole(numbers)), plain(await expected.whole(numbers)));
    for (const job_id of [4711, 9001]) assert.equal(await readTasks(remote, { ...query, job_id }), null);
    const question = { what: 'tasks', query: { job_id: 9000, fields: TASK_FIELDS, rows: { more_than: 1 } } } as const;
    const owner = killedAtLimit.owner;
    for (const level of ['own', 'anonymous'] as const) {
      assert.match(await answerQuery(question, { level, user: owner }, direct), /^\{"schema":1,/);
      await assert.rejects(answerQuery(question, { level, user: 'mallory' }, direct), /this is not an array/);
    }
  });

  it('passes on every filter, also for sums', async (t) => {
    const records = MANY_OWNERS.map((given) => {
      const record = parseRecord(given);
      assert.ok(record.ok);
      return record.value;
    });
    const site = await startTestSite(t, { accounting: memoryAccounting(records) });
    const remote = await openRemoteReader(site.socket);
    t.after(() => remote.close());
    const direct = memoryReader(records);
    const ALWAYS = { since: 0, until: Date.UTC(2027, 0) };
    for (const choice of [
      {},
      { project: 'genome' },
      { job_id: MANY_OWNERS[3]?.job_id ?? 0 },
      { queue: 'all.q', host: 'node07', pe: 'smp', cluster: 'biology' },
      { owner: 'dave', job_name: 'sw*p' },
      { owner: 'dave', name_class: 'sweep' },
      { name_class: 'x&y=%#?*' },
      { states: ['running', 'lost'] as const },
      { failed: true },
      { failed: false, sampled: true },
      { peak_at_least: 2 ** 30, peak_at_most: 2 ** 31 + 0.5 },
      { limit_at_least: 0.1 + 0.2, limit_at_most: 4 * 2 ** 30 },
      { share_at_least: 0.1 + 0.2, share_at_most: 1.205 },
      { wallclock_at_least: 1500 },
      { owner: hostile.owner ?? '', job_name: 'x&y=%00?*' },
    ]) {
      for (const query of [
        { ...ALWAYS, ...choice },
        { ...ALWAYS, ...choice, sort: 'peak' as const, limit: 2 },
      ])
        assert.deepEqual(await remote.records(query), await direct.records(query), JSON.stringify(query));
      for (const by of ['owner', 'project', 'host', 'job_name', 'day', 'cluster'] as const) {
        const query = { ...ALWAYS, ...choice, by, sort: 'cpu_seconds', limit: 3 } as const;
        assert.deepEqual(await remote.summary(query), await direct.summary(query), JSON.stringify(query));
      }
    }
    const all = await remote.summary({ ...ALWAYS, by: 'owner' });
    assert.deepEqual(all, await direct.summary({ ...ALWAYS, by: 'owner' }));
  });

  it('gets more records than one answer holds piece by piece', async (t) => {
    const all = Array.from({ length: 9 }, (_, index) => index * 1000 + 500);
    const { client, asked } = pagedClient(all, 2);
    const { records, totals } = await new RemoteReader(client).records({
      owner: 'bob',
      since: 0,
      until: 9000,
      limit: 1e9,
    });
    assert.deepEqual(
      records.map(({ record }) => record.revision),
      all.toReversed(),
    );
    const paged = [];
    for await (const { records: some, of } of new RemoteReader(client).pages({ since: 0, until: 9000 })) {
      assert.equal(of, 9);
      paged.push(...some);
    }
    assert.deepEqual(paged, records);
    assert.equal(totals.records, 9);
    const job = await new RemoteReader(client).job({ job_id: ordinary.job_id });
    assert.deepEqual(job.records.map(({ record }) => record.revision).sort(), [...all].sort());
    assert.match(asked[0] ?? '', /limit=10000/);
    t.diagnostic(`${asked.length} questions`);
  });

  it('gets the newest of more records than a program can hold', async (t) => {
    const all = Array.from({ length: 300_000 }, (_, index) => index);
    const { client, asked } = pagedClient(all, 2000);
    const query = { owner: 'bob', since: 0, until: all.length, limit: MOST_RECORDS + 1 };
    const { records, totals } = await new RemoteReader(client).records(query);
    assert.deepEqual(
      records.map(({ record }) => record.revision),
      all.slice(-MOST_RECORDS - 1).toReversed(),
    );
    assert.equal(totals.records, all.length);
    t.diagnostic(`${asked.length} questions`);
    const reason = { reason: '300000 records are too many to be sent' };
    await assert.rejects(new RemoteReader(client).records({ ...query, sort: 'peak' }), reason);
    await assert.rejects(new RemoteReader(client).job({ job_id: ordinary.job_id }), reason);
  });

  it('refuses more records than a program can hold before reading them', async () => {
    const totals = { ...noTotals(), records: 1e7 };
    const client = {
      socket: '/s',
      close: () => undefined,
      get: () => Promise.resolve({ status: 200, json: { schema: 1, records: [], totals, shown: 'all' } }),
    };
    await assert.rejects(
      new RemoteReader(client).records({ since: 0, until: 9000, limit: 1e9 }),
      (error: unknown) => error instanceof StoreError && error.reason.startsWith('10000000 records are too many'),
    );
  });

  it('is refused without a server, and by a server that cannot read the DB', async (t) => {
    const missing = join(temporaryDirectory(), 's');
    await assert.rejects(
      openRemoteReader(missing),
      (error: unknown) => error instanceof ClientError && error.code === 'ENOENT',
    );
    const site = await startTestSite(t);
    // Wait until the server has tried to read the DB.
    await until(
      async () => !(await ask({ socketPath: site.socket }, { path: '/v1/health' })).text.includes('"problem":null'),
    );
    await assert.rejects(
      openRemoteReader(site.socket),
      (error: unknown) => error instanceof StoreError && error.reason.includes('does not exist'),
    );
    // The server can read the DB as soon as it exists.
    const store = openSqliteStore(join(site.directory, 'accounting.db'), 0o600);
    await store.merge([ordinary]);
    await store.close();
    // A failed attempt to read the DB is remembered for a second.
    await oneOf(10, async () => {
      const reader = await openRemoteReader(site.socket);
      await reader.close();
    });
  });

  it('rejects invalid answers with a reason on one line', async (t) => {
    const bad: readonly (readonly [status: number, body: string, reason: RegExp])[] = [
      [200, 'not JSON', /not JSON/],
      [200, '[]', /is not an object/],
      [200, '{}', /schema is not 1/],
      [200, '{"schema":1}', /records is not a list/],
      [
        200,
        '{"schema":1,"records":[{"job_id":"x"}],"older_incarnations":0,"newer_incarnations":0}',
        /records\[0\]\.cluster is not a string/,
      ],
      [200, `{"schema":1,"records":[${JSON.stringify({ ...ordinary, ended: 1 })}]}`, /ended is not true or false/],
      [
        200,
        `{"schema":1,"records":[${JSON.stringify({ ...ordinary, ended: true, attempt: 0 })}]}`,
        /attempt is not a number/,
      ],
      [
        200,
        '{"schema":1,"records":[],"causes":[],"more_causes":false,"older_incarnations":-1,"newer_incarnations":0}',
        /older_incarnations is not a number/,
      ],
      [500, '{"type":"about:blank","title":"Internal error","status":500,"detail":"it broke"}', /it broke/],
      [502, '{}', /status 502/],
    ];
    let answer = bad[0];
    const socket = await serveOnSocket(t, (_request, response) => {
      response.writeHead(answer?.[0] ?? 0).end(answer?.[1]);
    });
    const client = newServerClient(socket);
    t.after(() => client.close());
    const reader = new RemoteReader(client);
    for (const given of bad) {
      answer = given;
      await assert.rejects(
        reader.job({ job_id: 1 }),
        (error: unknown) => error instanceof StoreError && given[2].test(error.reason) && !error.message.includes('\n'),
        given[1],
      );
    }
  });

  it('gives up on a server that does not answer', async (t) => {
    const socket = await serveOnSocket(t, () => undefined);
    const client = newServerClient(socket, 50);
    t.after(() => client.close());
    await assert.rejects(
      client.get('/'),
      (error: unknown) => error instanceof ClientError && error.message.includes('no answer within 0.05 s'),
    );
  });
});

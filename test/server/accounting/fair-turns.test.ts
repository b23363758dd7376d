import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { request, type ClientRequest } from 'node:http';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import type { AccountingService } from '../../../src/server/accounting/accounting-thread';
import type { Requester } from '../../../src/server/accounting/accounting-thread';
import { HttpProblem } from '../../../src/server/http/http-problem';
import { FULL_ACCESS } from '../../../src/server/access/access';
import { gatedThread, type GatedThread } from './gated-thread';
import { ask, startTestSite, type Got } from '../test-site';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { ordinary } from '../../report/sample-records';
import { asUser, NOBODY, notRoot } from '../../support/qmemacct';

/** Asks as the holder of a token; null: as anybody on this host. */
function askAs(
  token: string | null,
  port: number,
  job: number,
): { readonly sent: ClientRequest; readonly status: Promise<number> } {
  const path = `/v1/job/${job}`;
  const headers = token === null ? {} : { Authorization: `Bearer ${token}` };
  const sent = request({ host: '127.0.0.1', port, path, headers, agent: false });
  const status = new Promise<number>((resolve) => {
    sent.on('response', (answer) => resolve(answer.resume().statusCode ?? 0));
    sent.on('error', () => resolve(0));
  });
  sent.end();
  return { sent, status };
}

describe('queries of the accounting DB', () => {
  it('are run in turn by caller, and not run for clients that have left', async (t) => {
    const { accounting, run, open } = gatedThread(t);
    const askers: (Requester | undefined)[] = [];
    const watched: AccountingService = {
      problem: () => accounting.problem(),
      stop: () => accounting.stop(),
      ask: (question, access, requester) => {
        if (question.what === 'job') askers.push(requester);
        return accounting.ask(question, access, requester);
      },
      probe: () => Promise.resolve(),
    };
    const [one, two, three] = ['token-of-caller-1', 'token-of-caller-2', 'token-of-caller-3'] as const;
    const tokens = join(temporaryDirectory(), 'tokens');
    writeFileSync(tokens, [one, two, three].map((token) => `${token}\n`).join(''), { mode: 0o600 });
    const site = await startTestSite(t, { accounting: watched, settings: { serve_tokens: tokens } });
    const asked: Promise<number>[] = [];
    const sendAs = async (token: string, job: number): Promise<ClientRequest> => {
      const before = askers.length;
      const { sent, status } = askAs(token, site.port, job);
      asked.push(status);
      await until(() => askers.length > before);
      return sent;
    };
    await sendAs(one, 1);
    await until(() => run().length === 1);
    for (const job of [11, 12, 13, 14]) await sendAs(one, job);
    await sendAs(two, 21);
    const leaving = await sendAs(three, 31);
    leaving.destroy();
    await until(() => askers[5]?.gone?.aborted === false && askers[6]?.gone?.aborted === true);
    await sendAs(two, 22);
    open();
    assert.deepEqual(await Promise.all(asked), [200, 200, 200, 200, 200, 200, 0, 200]);
    assert.deepEqual(run(), [1, 11, 21, 12, 22, 13, 14]);
  });

  it('do not delay the advice to a user who submits a job', async (t) => {
    const { accounting, run, open } = gatedThread(t);
    const site = await startTestSite(t, { accounting, records: [ordinary] });
    const { status } = askAs(null, site.port, 1);
    await until(() => run().includes(1));
    const submission = await site.get('/v1/submission?owner=bob&job_name=sim&requests=h_vmem=4G');
    open();
    assert.deepEqual([submission.status, submission.text, await status], [200, 'keep\n', 200]);
  });

  it("waiting for a busy thread are run by its helper, after the helper's own", async (t) => {
    const busy = gatedThread(t);
    const helper = gatedThread(t, { helps: busy.accounting });
    const askOf = ({ accounting }: GatedThread, job: number): Promise<unknown> =>
      accounting.ask({ what: 'job', query: { job_id: job } }, FULL_ACCESS);
    const first = askOf(busy, 1);
    await until(() => busy.run().length === 1);
    await askOf(busy, 2);
    const gated = askOf(helper, 1);
    await until(() => helper.run().length === 2);
    const others = [askOf(busy, 3), askOf(helper, 4)];
    helper.open();
    await Promise.all([gated, ...others]);
    busy.open();
    await first;
    assert.deepEqual([busy.run(), helper.run()], [[1], [2, 1, 4, 3]]);
  });

  it('past their deadline are not run, and do not count as a fault of the DB', async (t) => {
    const { accounting, run, open } = gatedThread(t, { patienceMs: 100, mostWaiting: 3 });
    const job = (id: number, key: string): Promise<string> =>
      accounting.ask({ what: 'job', query: { job_id: id } }, FULL_ACCESS, { key, gone: null }).then(
        () => 'answered',
        (error: unknown) => (error instanceof HttpProblem ? error.message : 'no problem'),
      );
    const crowd = [1, 2, 3, 4, 5].map((id) => job(id, 'uid 1'));
    const other = job(9, 'uid 2');
    assert.match((await crowd[4]) ?? '', /^too many questions wait/);
    assert.match((await crowd[3]) ?? '', /^too many questions wait/);
    for (const one of [crowd[0], crowd[1], crowd[2], other])
      assert.match((await one) ?? '', /^the accounting DB has not/);
    assert.match(accounting.problem() ?? '', /^the accounting DB has not answered for 0\.1 s/);
    open();
    while ((await job(6, 'uid 1')) !== 'answered');
    assert.equal(accounting.problem(), null);
    assert.deepEqual(
      run().filter((id) => id !== 6),
      [1],
    );
  });
});

const MANY_CONNECTIONS = `
const { connect } = require('node:net');
const [socket, count] = process.argv.slice(1);
let open = 0, closed = 0;
const say = () => open + closed === Number(count) && console.log(JSON.stringify({ open, closed }));
const first = Array.from({ length: Number(count) }, () => {
  const one = connect(socket);
  one.on('error', () => undefined);
  one.on('connect', () => {
    one.write('GET /qhost HTTP/1.1\\r\\nHost: localhost\\r\\n\\r\\n');
    one.once('data', (piece) => {
      if (/^HTTP.1.1 503 /.test(piece)) console.log(String(piece).split('\\r\\n\\r\\n')[1] || '');
      else { open++; say(); }
    });
  });
  one.on('close', () => { closed++; say(); });
});
`;

describe('connections of one user', () => {
  it('are limited to 32, and leave room for other users', { skip: notRoot }, async (t) => {
    const site = await startTestSite(t);
    /** The program with so many connections, and what it printed once each was open or closed. */
    const connected = async (
      count: number,
      uid = NOBODY,
    ): Promise<{ readonly child: ChildProcess; readonly said: string }> => {
      const [program = '', ...become] = asUser(uid);
      const words = [...become, process.execPath, '-e', MANY_CONNECTIONS, site.socket, String(count)];
      const child = spawn(program, words, { stdio: ['ignore', 'pipe', 'inherit'] });
      t.after(() => child.kill('SIGKILL'));
      let said = '';
      child.stdout.on('data', (piece: Buffer) => (said += piece.toString()));
      await until(() => said.includes('"closed":'));
      return { child, said };
    };
    const ended = async (child: ChildProcess): Promise<void> => {
      if (child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    };
    const many = await connected(200);
    assert.match(many.said, /\{"open":32,"closed":168\}/);
    // A client that asks more than 2 s after connecting is not told why it is refused.
    for (let { said } = many; !said.includes('you have 32 connections here already; close some');) {
      const one = await connected(1);
      assert.match(one.said, /\{"open":0,"closed":1\}/);
      ({ said } = one);
    }
    // Unknown uids may all be sub-uids of one user.
    for (const uid of [100_000, 100_001]) assert.match((await connected(40, uid)).said, /\{"open":0,"closed":40\}/);
    assert.match((await connected(1, 1001)).said, /\{"open":1,"closed":0\}/);
    const others: Got[] = await Promise.all(
      Array.from({ length: 32 }, () => ask({ socketPath: site.socket }, { path: '/qhost' })),
    );
    assert.deepEqual(new Set(others.map(({ status }) => status)), new Set([200]));
    await ended(many.child);
    // The server may hear of a new connection before it hears that the old ones are closed.
    await until(async () => {
      const one = await connected(1);
      await ended(one.child);
      return one.said.includes('{"open":1,');
    });
  });
});

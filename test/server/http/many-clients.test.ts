import assert from 'node:assert/strict';
import { once } from 'node:events';
import { Agent, request, type IncomingMessage } from 'node:http';
import { connect } from 'node:net';
import { describe, it } from 'node:test';
import { busySnapshots } from '../../live/busy-snapshot';
import { ordinary } from '../../report/sample-records';
import { ask, NOW, startTestSite, type Got } from '../test-site';

const CLIENTS = 500;
const PATHS = ['/qhost', '/qstat', '/v1/live', '/v1/hosts', '/v1/job/4711', '/v1/health'];

describe('500 clients at once', () => {
  for (const keepAlive of [true, false])
    it(`all get their answers, ${keepAlive ? 'on connections that are kept' : 'each on a new connection'}`, async (t) => {
      const site = await startTestSite(t, { records: [ordinary] });
      const agent = keepAlive ? new Agent({ keepAlive, maxSockets: CLIENTS }) : false;
      t.after(() => agent && agent.destroy());
      // Kept connections are used again in the second round; closed ones no longer count in the third.
      const rounds = keepAlive ? 2 : 3;
      const got: Got[] = [];
      for (let round = 0; round < rounds; round++) {
        const asked = Array.from({ length: CLIENTS }, (_, index) => {
          const path = PATHS[(index + round) % PATHS.length] ?? '/';
          const where = index % 20 === 0 ? { socketPath: site.socket } : { port: site.port };
          return ask(where, { path, agent });
        });
        got.push(...(await Promise.all(asked)));
      }
      assert.equal(got.length, rounds * CLIENTS);
      assert.deepEqual(new Set(got.map(({ status }) => status)), new Set([200]));
      assert.ok(got.every(({ headers, bytes }) => bytes.length === Number(headers['content-length'])));
      // One content for each path: nobody got a part of another answer.
      assert.equal(new Set(got.map(({ headers }) => headers.etag)).size, PATHS.length);
      assert.deepEqual(site.lines, []);
    });
});

describe('500 queries of the accounting DB at once', () => {
  it('are all answered', async (t) => {
    const site = await startTestSite(t, { records: [ordinary] });
    const asked = Array.from({ length: CLIENTS }, () => site.get('/v1/job/4711'));
    assert.deepEqual(new Set((await Promise.all(asked)).map(({ status }) => status)), new Set([200]));
  });
});

describe('a server that stops', () => {
  it('finishes the answers under way, and accepts no more requests', async (t) => {
    let isAsked = (): void => undefined;
    const asked = new Promise<void>((resolve) => (isAsked = resolve));
    let answer: (text: Buffer) => void = () => undefined;
    const answered = new Promise<Buffer>((resolve) => (answer = resolve));
    const slow = {
      ask: () => {
        isAsked();
        return answered;
      },
      problem: () => null,
      probe: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    const site = await startTestSite(t, { accounting: slow });
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    await ask({ port: site.port }, { path: '/qhost', agent });
    const underWay = ask({ port: site.port }, { path: '/v1/running' });
    await asked;
    const ended = site.stop();
    answer(Buffer.from('{"records":[]}'));
    assert.equal((await underWay).status, 200);
    await ended;
    await assert.rejects(ask({ port: site.port }, { path: '/qhost' }), /ECONNREFUSED/);
    await assert.rejects(ask({ socketPath: site.socket }, { path: '/qhost' }), /ENOENT|ECONNREFUSED/);
  });

  it('sends the rest of an answer that is being read', async (t) => {
    const length = 16 * 2 ** 20;
    const large = {
      ask: () => Promise.resolve(Buffer.alloc(length, ' ')),
      problem: () => null,
      probe: () => Promise.resolve(),
      stop: () => Promise.resolve(),
    };
    const site = await startTestSite(t, { accounting: large });
    const asked = request({ host: '127.0.0.1', port: site.port, path: '/v1/running', agent: false }).end();
    const [answer] = (await once(asked, 'response')) as [IncomingMessage];
    const ended = site.stop();
    let read = 0;
    for await (const piece of answer) read += (piece as Buffer).length;
    assert.equal(read, length);
    await ended;
  });
});

describe('an answer about many running jobs', () => {
  it('does not delay other answers while it is made', async (t) => {
    const site = await startTestSite(t, { snapshot: busySnapshots(200, 20_000)(NOW) });
    let begun = false;
    const large = request({ host: '127.0.0.1', port: site.port, path: '/v1/live', agent: false });
    large.on('response', (answer) => {
      begun = true;
      answer.resume();
    });
    const ended = once(large, 'close');
    large.end();
    await once(large, 'finish');
    for (let asked = 0; asked < 2; asked++) await site.get('/icon.svg');
    assert.equal(begun, false);
    await ended;
    assert.equal(begun, true);
  });
});

describe('unused connections', () => {
  it('make room for new ones', async (t) => {
    const site = await startTestSite(t);
    for (let count = 0; count < 1100; count++) {
      const socket = connect(site.port, '127.0.0.1');
      t.after(() => socket.destroy());
      await once(socket, 'connect');
    }
    assert.equal((await site.get('/v1/health')).status, 200);
  });
});

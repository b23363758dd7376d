import assert from 'node:assert/strict';
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { describe, it, type TestContext } from 'node:test';
import { workedExample } from '../../live/snapshots';
import { ordinary } from '../../report/sample-records';
import { until } from '../../support/until';
import { ask, sharedSite, liveStateOf, startTestSite, type Got, type TestSite } from '../test-site';

interface Problem {
  readonly title: string;
  readonly status: number;
  readonly detail: string;
}

function problemOf(got: Got): Problem {
  assert.equal(got.headers['content-type'], 'application/problem+json');
  assert.equal(got.headers['cache-control'], 'no-store');
  const problem = got.json() as Problem;
  assert.equal(problem.status, got.status);
  assert.doesNotMatch(problem.detail, /\n/);
  assert.ok(problem.detail.length > 10 && problem.title.length > 3);
  return problem;
}

async function connected(t: TestContext, site: TestSite): Promise<Socket> {
  const socket = connect(site.port, '127.0.0.1');
  t.after(() => socket.destroy());
  socket.on('error', () => undefined);
  await once(socket, 'connect');
  return socket;
}

async function answerTo(t: TestContext, site: TestSite, bytes: string): Promise<string> {
  const socket = await connected(t, site);
  let text = '';
  socket.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
  socket.write(bytes, 'latin1');
  await once(socket, 'close');
  return text;
}

describe('an invalid or failing request', () => {
  const defaultSite = sharedSite();

  it('gets a status and one line that says why', async (t) => {
    const site = await startTestSite(t, { records: [] });
    const cases: readonly (readonly [path: string, status: number, detail: RegExp])[] = [
      ['/nothing', 404, /nothing is at this address/],
      ['/v1/live/', 404, /nothing is at this address/],
      ['/v1/job/4711/3', 404, /nothing is at this address/],
      ['//qhost', 404, /nothing is at this address/],
      ['/../../etc/passwd', 404, /nothing is at this address/],
      ['/v1/job/x', 400, /"job" is invalid; write 4711/],
      ['/v1/job/%zz', 400, /holds a % that is not a code/],
      ['/v1/owner/', 400, /"owner" is invalid/],
      [
        `/v1/records?host=${'node1,'.repeat(700)}`,
        400,
        /"host" is invalid; write a name, at most 4096 characters long/,
      ],
      ['/v1/owner/bob?since=never', 400, /"since" is invalid; write 7d/],
      ['/v1/owner/bob?since=1d&until=2d', 400, /"since" is not before "until"/],
      ['/v1/owner/bob?limit=10001', 400, /"limit" is invalid; write a number of 1 to 10000/],
      [
        '/v1/live?user=bob',
        400,
        /an unknown parameter; known here are owner, job, host, queue, project, sort, reverse, limit, pending/,
      ],
      ['/v1/live?__proto__=1', 400, /an unknown parameter/],
      ['/qhost?x=1', 400, /takes no parameters/],
      ['/v1/live?owner=a&owner=b', 400, /given twice/],
      [`/qhost?${'x'.repeat(7000)}`, 414, /longer than 7000/],
      ['/v1/job/1', 404, /no such job is known here/],
    ];
    for (const [path, status, detail] of cases) {
      const got = await site.get(path);
      assert.equal(got.status, status, `${path}: ${got.text}`);
      assert.match(problemOf(got).detail, detail);
    }
  });

  it('is refused with another method than GET or HEAD, or with a large or chunked body', async (t) => {
    const site = await defaultSite();
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'PATCH', 'TRACE']) {
      const got = await ask({ port: site.port }, { path: '/qhost', method });
      assert.equal(got.status, 405, method);
      assert.equal(got.headers.allow, 'GET, HEAD');
      problemOf(got);
    }
    const small = await ask({ port: site.port }, { path: '/qhost', headers: { 'Content-Length': '5' }, body: 'abcde' });
    assert.equal(small.status, 200);
    const chunked = await ask(
      { port: site.port },
      { path: '/qhost', headers: { 'Transfer-Encoding': 'chunked' }, body: 'x' },
    );
    assert.equal(chunked.status, 413);
    const text = await answerTo(t, site, 'GET /qhost HTTP/1.1\r\nHost: localhost\r\nContent-Length: 99999999\r\n\r\n');
    assert.match(text, /^HTTP\/1\.1 413 /);
  });

  it('leaves no trace of its content in the headers of the answer', async () => {
    const site = await defaultSite();
    const mark = 'x-injected';
    for (const path of [`/${mark}`, `/v1/owner/%0d%0a${mark}:1?since=0`, `/v1/live?owner=%0d%0a${mark}`]) {
      const got = await site.get(path, { [mark]: mark, Origin: `https://${mark}` });
      assert.doesNotMatch(JSON.stringify(got.headers), new RegExp(mark));
    }
  });

  it('that is no HTTP, or has too many headers, is refused and the connection closed', async (t) => {
    const site = await defaultSite();
    assert.match(
      await answerTo(t, site, 'nonsense\r\n\r\n'),
      /^HTTP\/1\.1 400 .*application\/problem\+json.*not an HTTP/s,
    );
    assert.match(await answerTo(t, site, '\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03'), /^HTTP\/1\.1 400 /);
    const long = `GET /qhost HTTP/1.1\r\nHost: localhost\r\nX: ${'x'.repeat(9000)}\r\n\r\n`;
    assert.match(await answerTo(t, site, long), /^HTTP\/1\.1 431 .*8192 bytes/s);
    const twice = 'GET /qhost HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n';
    assert.match(await answerTo(t, site, twice), /^HTTP\/1\.1 400 /);
    assert.equal((await site.get('/qhost')).status, 200);
  });

  it('that fails by a bug is answered without details, which are logged', async (t) => {
    const live = {
      current: () => {
        throw new Error('secret inside');
      },
      put: () => undefined,
    };
    const site = await startTestSite(t, { live });
    const got = await site.get('/v1/live');
    assert.equal(got.status, 500);
    assert.doesNotMatch(got.text, /secret/);
    assert.match(site.lines.join('\n'), /an answer failed, which is a bug: Error: secret inside/);
  });
});

describe('slow clients', () => {
  it('that break off in the middle of a form leave no trace in the log', async (t) => {
    const site = await startTestSite(t, { records: [] });
    for (let count = 0; count < 3; count++) {
      const socket = await connected(t, site);
      const head = 'POST /sign-in HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\nExpect: 100-continue\r\n';
      socket.write(`${head}Content-Length: 100\r\n\r\ntoken=`);
      await once(socket, 'data');
      socket.destroy();
    }
    await site.stop();
    assert.doesNotMatch(site.lines.join('\n'), /an answer failed/);
  });

  it('delay no other client', async (t) => {
    const site = await startTestSite(t);
    const slow = await Promise.all(Array.from({ length: 50 }, () => connected(t, site)));
    for (const socket of slow) socket.write('GET /qhost HTTP/1.1\r\nHost: localhost\r\nX-');
    assert.equal((await site.get('/qhost')).status, 200);
  });
});

describe('requests sent ahead on one connection', () => {
  it('are answered up to eight, and delay no other client', async (t) => {
    const live = liveStateOf(workedExample());
    let handled = 0;
    const counted = {
      current: () => {
        handled++;
        return live.current();
      },
    };
    const site = await startTestSite(t, { live: counted });
    const greedy = await connected(t, site);
    let text = '';
    greedy.pause();
    greedy.write('GET /qhost HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(1500));
    await until(() => handled > 0);
    assert.equal((await site.get('/v1/openapi.json')).status, 200);
    greedy.on('data', (piece: Buffer) => (text += piece.toString('latin1')));
    greedy.resume();
    await once(greedy, 'close');
    assert.ok(handled <= 8, `${handled} were handled`);
    assert.match(text, /^(?:HTTP\/1\.1 503 .*\r\nConnection: close\r\n.*sent ahead here; wait|$)/s);
    // The site has no accounting DB, which the server logs after a while.
    assert.deepEqual(
      site.lines.filter((line) => !line.startsWith('the accounting DB: ')),
      [],
    );
    const patient = 'GET /qhost HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(7);
    const answers = await answerTo(
      t,
      site,
      `${patient}GET /qhost HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`,
    );
    assert.equal(answers.split('HTTP/1.1 200 ').length, 9);
  });

  it('count as no leak of memory, of which Node would warn', async (t) => {
    const warnings: string[] = [];
    const heard = (warning: Error): void => void warnings.push(warning.message);
    process.on('warning', heard);
    t.after(() => process.off('warning', heard));
    const site = await startTestSite(t, { records: [ordinary] });
    const pages = 'GET /jobs HTTP/1.1\r\nHost: localhost\r\n\r\n'.repeat(7);
    await answerTo(t, site, `${pages}GET /jobs HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n`);
    assert.deepEqual(warnings, []);
  });
});

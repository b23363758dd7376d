import assert from 'node:assert/strict';
import { once } from 'node:events';
import { writeFileSync } from 'node:fs';
import { connect } from 'node:net';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { RenderTurns } from '../../../src/server/http/render-turns';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { ask, sharedSite } from '../test-site';

describe('RenderTurns', () => {
  it('makes one answer at a time, of callers in turn, with other work in between', async () => {
    const turns = new RenderTurns();
    const order: string[] = [];
    const take = (key: string, name: string): Promise<unknown> =>
      turns.take({ key, gone: null }, () => void order.push(name));
    const asked = ['a1', 'a2', 'a3'].map((name) => take('a', name));
    setImmediate(() => setImmediate(() => order.push('other work')));
    await Promise.all([...asked, take('b', 'b1')]);
    assert.deepEqual(order, ['a1', 'b1', 'other work', 'a2', 'a3']);
    await take('a', 'a4');
    assert.equal(order.at(-1), 'a4');
  });

  it('makes no answer for a client that has left', async () => {
    const turns = new RenderTurns();
    const leaving = new AbortController();
    const first = turns.take({ key: 'a', gone: null }, () => leaving.abort());
    const waiting = turns.take({ key: 'a', gone: leaving.signal }, () => assert.fail());
    await first;
    await assert.rejects(waiting, /the client has left/);
    await assert.rejects(
      turns.take({ key: 'a', gone: leaving.signal }, () => assert.fail()),
      /the client has left/,
    );
  });

  it('goes on after an answer that fails', async () => {
    const turns = new RenderTurns();
    const failing = turns.take({ key: 'a', gone: null }, () => {
      throw new Error('no such thing');
    });
    const next = turns.take({ key: 'a', gone: null }, () => 'made');
    await assert.rejects(failing, /no such thing/);
    assert.equal(await next, 'made');
  });
});

describe('dozens of live answers for one user', () => {
  const AHEAD = 8;
  const CONNECTIONS = 16;
  const ANSWERED = 'HTTP/1.1 200';
  const [one, other] = ['token-of-caller-1', 'token-of-caller-2'] as const;
  const tokens = join(temporaryDirectory(), 'tokens');
  writeFileSync(tokens, `${one}\n${other}\n`, { mode: 0o600 });
  const tokenSite = sharedSite({ settings: { serve_tokens: tokens } });
  for (const path of ['/v1/live?', '/v1/hosts?', '/v1/at-risk?', '/qstat.xml?pending=false&', '/qhost.xml?', '/?'])
    it(`do not delay another user: ${path}`, async (t) => {
      const site = await tokenSite();
      const received = Array.from({ length: CONNECTIONS }, () => ({ answers: 0, end: '' }));
      const answered = (): number => received.reduce((sum, { answers }) => sum + answers, 0);
      const sockets = received.map((found, connection) => {
        const socket = connect(site.port, '127.0.0.1');
        t.after(() => socket.destroy());
        socket.on('data', (piece: Buffer) => {
          const text = found.end + piece.toString('latin1');
          found.answers += text.split(ANSWERED).length - 1;
          // As much as a head may lack that ends in the next piece.
          found.end = text.slice(1 - ANSWERED.length);
        });
        for (let index = 0; index < AHEAD; index++)
          socket.write(
            `GET ${path}host=*,x${connection}y${index} HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${one}\r\n\r\n`,
          );
        return socket;
      });
      await Promise.race(sockets.map((socket) => once(socket, 'data')));
      const headers = { Authorization: `Bearer ${other}` };
      const others = ['/v1/health', `${path}host=*,z`].map(async (asked) => {
        const { status } = await ask({ port: site.port }, { path: asked, headers });
        assert.equal(status, 200);
        assert.ok(answered() < (AHEAD * CONNECTIONS) / 2, `${asked} after ${answered()}`);
      });
      await Promise.all(others);
      await until(() => answered() === AHEAD * CONNECTIONS);
    });
});

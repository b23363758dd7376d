import assert from 'node:assert/strict';
import { Agent } from 'node:http';
import { describe, it } from 'node:test';
import { socketGet } from '../../src/live/socket-get';
import { serveOnSocket } from './snapshot-server';

const limits = { timeoutMs: 60_000, mostBytes: 1000 };

describe('socketGet', () => {
  it('requests a target, and keeps the connection with an agent', async (t) => {
    const ports = new Set<unknown>();
    const socket = await serveOnSocket(t, ({ url, socket: from }, response) => {
      ports.add(from);
      response.writeHead(404).end(`no ${url}`);
    });
    const agent = new Agent({ keepAlive: true });
    t.after(() => agent.destroy());
    for (const target of ['/a', '/b?c=1']) {
      const { status, text } = await socketGet(socket, target, { ...limits, agent });
      assert.deepEqual([status, text], [404, `no ${target}`]);
    }
    assert.equal(ports.size, 1);
    await socketGet(socket, '/', limits);
    assert.equal(ports.size, 2);
  });

  it("rejects with the system's error code", async (t) => {
    await assert.rejects(socketGet('/none/such.sock', '/', limits), { code: 'ENOENT' });
    const cut = await serveOnSocket(t, (_, response) => response.destroy());
    await assert.rejects(socketGet(cut, '/', limits), { code: 'ECONNRESET' });
  });
});

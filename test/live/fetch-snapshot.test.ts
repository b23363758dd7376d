import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { fetchSnapshot } from '../../src/live/fetch-snapshot';
import { snapshotToJson } from '../../src/live/snapshot-json';
import { answering } from '../support/listening';
import { temporaryDirectory } from '../support/temporary-directory';
import { anEmptySnapshot, serveOnSocket } from './snapshot-server';

describe("the site's snapshot", () => {
  it("is fetched from the server's socket", async (t) => {
    const asked: (string | undefined)[] = [];
    const socket = await serveOnSocket(t, ({ url }, response) => {
      asked.push(url);
      response.end(snapshotToJson(anEmptySnapshot('site')));
    });
    assert.deepEqual(await fetchSnapshot(socket), anEmptySnapshot('site'));
    await fetchSnapshot(socket, { pending: true });
    assert.deepEqual(asked, ['/v1/snapshot', '/v1/snapshot?pending=true']);
  });

  it('is null where no server listens', async () => {
    const directory = temporaryDirectory();
    const file = join(directory, 'file');
    writeFileSync(file, '');
    mkdirSync(join(directory, 'closed'), { mode: 0o000 });
    for (const path of [join(directory, 'none'), file, join(file, 'below')])
      assert.equal(await fetchSnapshot(path), null, path);
  });

  it('is refused if it is another answer, too long, too late or cut off', async (t) => {
    const json = snapshotToJson(anEmptySnapshot('site'));
    const status = await serveOnSocket(t, (_, response) => response.writeHead(503).end(json));
    await assert.rejects(fetchSnapshot(status), /socket: it answers with status 503/);
    const detail = 'nothing is known yet';
    const problem = JSON.stringify({ type: 'about:blank', title: 'Unavailable', status: 503, detail });
    const knowsNothing = await serveOnSocket(t, (_, response) => response.writeHead(503).end(problem));
    await assert.rejects(fetchSnapshot(knowsNothing), /socket: nothing is known yet$/);
    const garbage = await serveOnSocket(t, (_, response) => response.end('<html>'));
    await assert.rejects(fetchSnapshot(garbage), /socket: the snapshot is not JSON/);
    const long = await serveOnSocket(t, (_, response) => {
      const more = (): void => {
        if (!response.destroyed) response.write('x'.repeat(65536), () => setImmediate(more));
      };
      more();
    });
    await assert.rejects(fetchSnapshot(long, { mostBytes: 1_000_000 }), /longer than 1000000 bytes/);
    const cut = await serveOnSocket(t, (_, response) => {
      response.writeHead(200, { 'content-length': json.length });
      response.write(json.slice(0, 50), () => response.destroy());
    });
    await assert.rejects(fetchSnapshot(cut), /socket: (aborted|socket hang up)/);
    const silent = await serveOnSocket(t, () => undefined);
    await assert.rejects(fetchSnapshot(silent, { timeoutMs: 100 }), /no answer within 0\.1 s/);
    const drip = await serveOnSocket(t, (_, response) => {
      const timer = setInterval(() => response.write(' '), 20);
      response.on('close', () => clearInterval(timer));
    });
    await assert.rejects(fetchSnapshot(drip, { timeoutMs: 300 }), /no answer within 0\.3 s/);
    await assert.rejects(fetchSnapshot(silent, { signal: AbortSignal.timeout(50) }), /aborted/);
  });

  it('is refused if it is not HTTP', async (t) => {
    const path = await answering(t, (socket) => socket.end('220 mail\r\n'));
    await assert.rejects(fetchSnapshot(path), /socket: Parse Error/);
  });
});

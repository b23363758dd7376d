import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { peerCredentials, type PeerCredentials } from '../../src/native/peer-credentials';
import { temporaryDirectory } from '../support/temporary-directory';

async function listening(t: TestContext): Promise<{ readonly server: Server; readonly path: string }> {
  const directory = temporaryDirectory(0o755);
  const server = createServer();
  const path = join(directory, 's');
  server.listen({ path, readableAll: true, writableAll: true });
  await once(server, 'listening');
  t.after(() => {
    server.close();
  });
  return { server, path };
}

async function accepted(t: TestContext, server: Server): Promise<Socket> {
  const [socket] = (await once(server, 'connection')) as [Socket];
  t.after(() => socket.destroy());
  return socket;
}

const CONNECT = 'require("node:net").connect(process.argv[1]).on("error", (e) => { throw e; })';

describe('peerCredentials', () => {
  it('gives pid, uid and gid of this process where it connects to itself', async (t) => {
    const { server, path } = await listening(t);
    const client = connect(path);
    t.after(() => client.destroy());
    const expected: PeerCredentials = {
      pid: process.pid,
      uid: process.geteuid?.() ?? -1,
      gid: process.getegid?.() ?? -1,
    };
    assert.deepEqual(peerCredentials(await accepted(t, server)), expected);
  });

  it(
    'gives pid, uid and gid of a process of another user',
    { skip: process.getuid?.() !== 0 && 'only root can become another' },
    async (t) => {
      const { server, path } = await listening(t);
      const words = ['--reuid=65534', '--regid=65533', '--clear-groups', process.execPath, '-e', CONNECT, path];
      const child = spawn('setpriv', words, { stdio: ['ignore', 'ignore', 'inherit'] });
      t.after(() => child.kill('SIGKILL'));
      const found = peerCredentials(await accepted(t, server));
      assert.deepEqual([found?.uid, found?.gid, found?.pid], [65534, 65533, child.pid]);
    },
  );

  it('gives null over TCP and after the connection was closed', async (t) => {
    const server = createServer();
    t.after(() => server.close());
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    const client = connect((server.address() as AddressInfo).port, '127.0.0.1');
    t.after(() => client.destroy());
    const socket = await accepted(t, server);
    assert.equal(peerCredentials(socket), null);
    socket.destroy();
    assert.equal(peerCredentials(socket), null);
  });
});

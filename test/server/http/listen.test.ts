import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, lstatSync, mkdirSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { UserError } from '../../../src/base/user-error';
import { systemdSockets, listenAt, listenAddressText, type ListenAddress } from '../../../src/server/http/listen';
import { temporaryDirectory } from '../../support/temporary-directory';
import { asUser, NOBODY, notRoot } from '../../support/qmemacct';

function newServer(t: TestContext): Server {
  const server = createServer();
  t.after(() => server.close());
  return server;
}

async function fault(t: TestContext, place: ListenAddress): Promise<string> {
  let message = '';
  await assert.rejects(listenAt(newServer(t), place), (error: unknown) => {
    assert.ok(error instanceof UserError);
    ({ message } = error);
    return true;
  });
  assert.doesNotMatch(message, /\n/);
  return message;
}

/** A socket whose server was killed. */
async function deadSocket(path: string): Promise<void> {
  const script = 'require("node:net").createServer().listen(process.argv[1], () => console.log("up"))';
  const child = spawn(process.execPath, ['-e', script, path], { stdio: ['ignore', 'pipe', 'inherit'] });
  await once(child.stdout, 'data');
  child.kill('SIGKILL');
  await once(child, 'close');
  assert.ok(lstatSync(path).isSocket());
}

describe('listenAt', () => {
  it('makes a socket for everybody, and its directory', async (t) => {
    const path = join(temporaryDirectory(), 'run', 'qmemacct', 'serve.sock');
    const before = process.umask(0o077);
    try {
      await listenAt(newServer(t), { kind: 'socket', path });
    } finally {
      process.umask(before);
    }
    assert.equal(lstatSync(path).mode & 0o777, 0o666);
    assert.equal(lstatSync(join(path, '..')).mode & 0o777, 0o755);
  });

  it('replaces the socket of a dead server, not of a live one', async (t) => {
    const path = join(temporaryDirectory(), 's');
    await deadSocket(path);
    await listenAt(newServer(t), { kind: 'socket', path });
    assert.match(await fault(t, { kind: 'socket', path }), /another server answers there/);
    assert.ok(existsSync(path));
  });

  it('removes no file other than a socket', async (t) => {
    const path = join(temporaryDirectory(), 's');
    writeFileSync(path, 'precious');
    assert.match(await fault(t, { kind: 'socket', path }), /a file that is not a socket lies there/);
    assert.ok(lstatSync(path).isFile());
  });

  it('says in one line why it cannot listen, and what to do', async (t) => {
    const directory = temporaryDirectory();
    const first = newServer(t);
    await listenAt(first, { kind: 'tcp', address: '127.0.0.1', port: 0 });
    const { port } = first.address() as { readonly port: number };
    assert.equal(
      await fault(t, { kind: 'tcp', address: '127.0.0.1', port }),
      `can't listen on 127.0.0.1:${port}: another program has this port; give another with --port, or set serve_port`,
    );
    assert.match(await fault(t, { kind: 'tcp', address: '192.0.2.1', port: 0 }), /this host has no such address/);
    writeFileSync(join(directory, 'file'), '');
    assert.match(
      await fault(t, { kind: 'socket', path: join(directory, 'file', 's') }),
      /part of its path is not a directory|EEXIST/,
    );
    assert.match(await fault(t, { kind: 'socket', path: `/${'x'.repeat(107)}` }), /longer than 107 bytes/);
    assert.match(await fault(t, { kind: 'descriptor', fd: 999 }), /descriptor 999/);
  });

  it('says that this user may not make a socket there', { skip: notRoot }, () => {
    const directory = temporaryDirectory(0o755);
    mkdirSync(join(directory, 'run'), { mode: 0o755 });
    const script =
      'const { listenAt } = require(process.argv[1]);' +
      'listenAt(require("node:net").createServer(), { kind: "socket", path: process.argv[2] }).catch((e) => console.log(e.message))';
    const [program, ...words] = [...asUser(NOBODY), process.execPath, '-e', script];
    const path = join(directory, 'run', 's');
    const { stdout } = spawnSync(program, [...words, require.resolve('../../../src/server/http/listen'), path], {
      encoding: 'utf8',
    });
    assert.match(stdout, /^can't listen on .*: no permission to make it there; .*--socket\n$/);
  });
});

describe('sockets of systemd', () => {
  it('are taken only if they were meant for this process', () => {
    assert.deepEqual(systemdSockets({ LISTEN_PID: '12', LISTEN_FDS: '2' }, 12), [
      { kind: 'descriptor', fd: 3 },
      { kind: 'descriptor', fd: 4 },
    ]);
    for (const env of [
      {},
      { LISTEN_PID: '13', LISTEN_FDS: '1' },
      { LISTEN_PID: '12' },
      { LISTEN_PID: '12', LISTEN_FDS: '-1' },
    ])
      assert.deepEqual(systemdSockets(env, 12), []);
  });
});

describe('listenAddressText', () => {
  it('is written as a user would write it', () => {
    assert.equal(listenAddressText({ kind: 'tcp', address: '::1', port: 80 }), '[::1]:80');
    assert.equal(listenAddressText({ kind: 'tcp', address: '127.0.0.1', port: 80 }), '127.0.0.1:80');
    assert.equal(listenAddressText({ kind: 'socket', path: '/s' }), '/s');
  });
});

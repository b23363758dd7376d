import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './temporary-directory';

/** Servers that listen until the test is over, when their connections end too. */

function endWith(t: TestContext, server: Server): void {
  const open = new Set<Socket>();
  server.on('connection', (socket: Socket) => {
    open.add(socket);
    socket.on('error', () => undefined);
    socket.once('close', () => open.delete(socket));
  });
  t.after(async () => {
    for (const socket of open) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
}

/** Makes a server listen on the loopback address; returns its port. */
export async function listenOnPort(t: TestContext, server: Server): Promise<number> {
  endWith(t, server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Makes a server listen at a Unix socket, by default a new one; returns the socket's path. */
export async function listenAt(
  t: TestContext,
  server: Server,
  path = join(temporaryDirectory(), 'socket'),
): Promise<string> {
  endWith(t, server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return path;
}

/** Starts a server at a Unix socket that calls `greet` for each connection; returns the socket's path. */
export function answering(t: TestContext, greet: (socket: Socket) => void): Promise<string> {
  return listenAt(t, createServer(greet));
}

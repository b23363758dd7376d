import { createServer, type AddressInfo, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from './temporary-directory';

/** Servers that listen until the test is over; their connections end with it, too. */

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

/** Its port, on this machine alone. */
export async function listenOnPort(t: TestContext, server: Server): Promise<number> {
  endWith(t, server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return (server.address() as AddressInfo).port;
}

/** Its socket's path: one of its own unless one is given. */
export async function listenAt(
  t: TestContext,
  server: Server,
  path = join(temporaryDirectory(), 'socket'),
): Promise<string> {
  endWith(t, server);
  await new Promise<void>((resolve) => server.listen(path, resolve));
  return path;
}

/** A server that does this with each connection; its socket's path. */
export function answering(t: TestContext, greet: (socket: Socket) => void): Promise<string> {
  return listenAt(t, createServer(greet));
}

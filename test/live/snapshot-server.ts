import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import type { Snapshot } from '../../src/live/snapshot';
import { temporaryDirectory } from '../support/temporary-directory';

/** Something that serves HTTP on a unix socket until the test is over; the socket's path. */
export async function serveOnSocket(t: TestContext, listener: RequestListener): Promise<string> {
  const path = join(temporaryDirectory(), 'serve.sock');
  const server = createServer(listener);
  await new Promise<AddressInfo | string | null>((resolve) => server.listen(path, () => resolve(server.address())));
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return path;
}

export function anEmptySnapshot(cluster: string): Snapshot {
  const nothing = { at: 1, value: [], problem: null, triedAt: 1 };
  return { cluster, dialect: 'sge8.1.9', hosts: nothing, running: nothing, details: nothing, pending: null };
}

import { createServer, type Server } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Runs `work` while no other process of this machine works on the same cell.
 * The lock is an abstract socket: the kernel releases it when its holder ends, however it ends.
 * Rejects if another process holds it for longer than `waitMs`.
 */
export async function withCellLock<T>(stateDir: string, waitMs: number, work: () => Promise<T>): Promise<T> {
  const deadline = Date.now() + waitMs;
  let lock = await tryLock(stateDir);
  while (lock === null) {
    if (Date.now() > deadline) throw new Error(`another process is bringing the cell in ${stateDir} up or down`);
    await sleep(100);
    lock = await tryLock(stateDir);
  }
  try {
    return await work();
  } finally {
    lock.close();
  }
}

function tryLock(stateDir: string): Promise<Server | null> {
  return new Promise((resolve, reject) => {
    const server = createServer((connection) => connection.destroy());
    server.on('error', (error: NodeJS.ErrnoException) => {
      if (error.code === 'EADDRINUSE') resolve(null);
      else reject(error);
    });
    server.listen(`\0qmemacct-cell:${stateDir}`, () => resolve(server));
  });
}

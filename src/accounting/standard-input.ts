import { read } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';

const CHUNK_BYTES = 1 << 16;
const PAUSE_MS = 5;

function readSome(descriptor: number, into: Buffer): Promise<number> {
  return new Promise((resolve, reject) => {
    read(descriptor, into, 0, into.length, null, (error, bytes) => {
      if (error === null) resolve(bytes);
      // The pipe is empty, and our parent left it non-blocking.
      else if (error.code === 'EAGAIN') sleep(PAUSE_MS).then(() => resolve(readSome(descriptor, into)), reject);
      else reject(error);
    });
  });
}

/**
 * Standard input as text, as it comes. process.stdin would load Node's streams and sockets, 8 ms of every delivery. A
 * process that exits during a read waits until that read ends.
 */
export async function* standardInput(descriptor = 0): AsyncGenerator<string> {
  const buffer = Buffer.allocUnsafe(CHUNK_BYTES);
  const decoder = new TextDecoder();
  for (let bytes = await readSome(descriptor, buffer); bytes > 0; bytes = await readSome(descriptor, buffer))
    yield decoder.decode(buffer.subarray(0, bytes), { stream: true });
}

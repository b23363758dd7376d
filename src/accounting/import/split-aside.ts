import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import type { LinePlace } from './line-place';
import type { LineBatch } from './split-lines';
import type { Split, SplitterData } from './split-worker';

/** Pieces that may wait for the thread: more than a batch of them, so that it has work while one is being stored. */
const MOST_PIECES = 16;
/** Batches that may wait to be stored while more pieces are read. */
const MOST_BATCHES = 2;

/** As `splitHere`, in a thread of its own, while what it has read before is being stored. */
export async function* splitAside(
  pieces: AsyncIterable<Buffer>,
  from: number,
  most: number,
  begin: LinePlace,
): AsyncGenerator<LineBatch, void> {
  const workerData: SplitterData = { from, most, begin };
  const worker = new Worker(join(__dirname, 'split-worker.js'), { workerData });
  const iterator = pieces[Symbol.asyncIterator]();
  const ready: LineBatch[] = [];
  /** What the thread was sent and has not answered. */
  let unanswered = 0;
  let isSent = false;
  let failure: { readonly error: unknown } | null = null;
  let died: { readonly error: unknown } | null = null;
  let wake = (): void => undefined;
  const dies = (error: unknown): void => {
    died ??= { error };
    wake();
  };
  worker.on('message', (batches: Split) => {
    unanswered--;
    ready.push(...batches);
    wake();
  });
  worker.on('error', dies);
  worker.on('exit', () => {
    dies(new Error('the thread that reads the lines has ended'));
  });
  const isDead = (): boolean => died !== null;

  async function sendNext(): Promise<void> {
    const step = await iterator.next().catch((error: unknown) => ({ error }));
    unanswered++;
    if ('error' in step) failure = step;
    if ('error' in step || step.done === true) {
      isSent = true;
      worker.postMessage(null);
      return;
    }
    // The next piece comes into the same memory.
    const piece = new Uint8Array(step.value);
    worker.postMessage(piece, [piece.buffer]);
  }

  try {
    for (;;) {
      while (!isSent && !isDead() && unanswered < MOST_PIECES && ready.length < MOST_BATCHES) await sendNext();
      const batch = ready.shift();
      if (batch !== undefined) yield batch;
      else if (isSent && unanswered === 0) break;
      else if (died !== null) throw (died as { readonly error: unknown }).error;
      else await new Promise<void>((resolve) => (wake = resolve));
    }
  } finally {
    await Promise.all([iterator.return?.(), worker.terminate()]);
  }
  if (failure !== null) throw (failure as { readonly error: unknown }).error;
}

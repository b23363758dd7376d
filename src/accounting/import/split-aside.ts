import { Worker } from 'node:worker_threads';
import { programPath } from '../../base/programs';
import type { FilePlace, LineBatch } from './split-lines';
import type { Split, SplitterData } from './split-worker';

/** Pieces that may wait for the thread: more than make a batch, so that it has work while a batch is being stored. */
const MOST_PIECES = 16;
/** Batches that may wait to be stored while more pieces are read. */
const MOST_BATCHES = 2;

interface Failure {
  readonly error: unknown;
}

interface State {
  /** Messages that the thread was sent and has not answered. */
  unanswered: number;
  /** Whether the thread was sent all pieces. */
  isSent: boolean;
  /** The error that ended the pieces. */
  unread: Failure | null;
  dead: Failure | null;
  /** Resumes the generator if it waits for the thread. */
  wake: () => void;
}

/**
 * As `splitHere`, but in a thread of its own (a test may give another `program`), which reads on while earlier batches
 * are being stored.
 */
export async function* splitAside(
  pieces: AsyncIterable<Buffer>,
  begin: FilePlace,
  most: number,
  program = programPath('accounting/import/split-worker'),
): AsyncGenerator<LineBatch, void> {
  const workerData: SplitterData = { begin, most };
  const worker = new Worker(program, { workerData });
  const iterator = pieces[Symbol.asyncIterator]();
  const ready: LineBatch[] = [];
  /** Memory of earlier pieces. */
  const spare: ArrayBuffer[] = [];
  const state: State = { unanswered: 0, isSent: false, unread: null, dead: null, wake: () => undefined };
  const dies = (error: unknown): void => {
    state.dead ??= { error };
    state.wake();
  };
  worker.on('message', ({ batches, memory }: Split) => {
    state.unanswered--;
    ready.push(...batches);
    if (memory !== null) spare.push(memory);
    state.wake();
  });
  worker.on('error', dies);
  worker.on('exit', () => {
    dies(new Error('the thread that reads the lines has ended'));
  });

  async function sendNext(): Promise<void> {
    const step = await iterator.next().catch((error: unknown) => ({ error }));
    state.unanswered++;
    if ('error' in step || step.done === true) {
      if ('error' in step) state.unread = step;
      state.isSent = true;
      worker.postMessage(null);
      return;
    }
    // A copy: the next piece comes into the same memory.
    const { length } = step.value;
    const memory = spare.pop();
    const piece = new Uint8Array(
      memory !== undefined && memory.byteLength >= length ? memory : new ArrayBuffer(length),
      0,
      length,
    );
    piece.set(step.value);
    worker.postMessage(piece, [piece.buffer]);
  }
  const wantsMore = (): boolean =>
    !state.isSent && state.dead === null && state.unanswered < MOST_PIECES && ready.length < MOST_BATCHES;

  try {
    for (;;) {
      while (wantsMore()) await sendNext();
      const batch = ready.shift();
      if (batch !== undefined) yield batch;
      else if (state.isSent && state.unanswered === 0) break;
      else if (state.dead !== null) throw state.dead.error;
      else await new Promise<void>((resolve) => (state.wake = resolve));
    }
  } finally {
    await Promise.all([iterator.return?.(), worker.terminate()]);
  }
  if (state.unread !== null) throw state.unread.error;
}

import { Worker } from 'node:worker_threads';
import { reasonOf } from './user-error';
import { programPath } from './programs';

const ENDS_WITHIN_MS = 10_000;

interface Thread {
  readonly worker: Worker;
  /** Asks the thread to stop; resolves when it has ended, by itself or by force after ENDS_WITHIN_MS. */
  readonly stop: () => Promise<void>;
}

/** Starts a thread that works until it is sent 'stop'; an error that ends it before goes to `died`. */
export function startThread(
  program: Parameters<typeof programPath>[0],
  workerData: unknown,
  died: (reason: string) => void,
): Thread {
  const worker = new Worker(programPath(program), { workerData });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.on('error', (error) => died(reasonOf(error)));
  return {
    worker,
    stop: async () => {
      worker.postMessage('stop');
      const late = setTimeout(() => void worker.terminate(), ENDS_WITHIN_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

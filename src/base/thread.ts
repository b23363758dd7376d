import { Worker } from 'node:worker_threads';
import { reasonOf } from './user-error';
import { programPath } from './programs';

const ENDS_WITHIN_MS = 10_000;

interface Thread {
  readonly worker: Worker;
  /** Resolves when it has ended: by itself, or at the end of its time. */
  readonly stop: () => Promise<void>;
}

/** A thread that works until it is sent 'stop'; `died` is called with the reason why it ended before. */
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

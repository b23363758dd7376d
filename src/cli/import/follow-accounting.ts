import { join } from 'node:path';
import { Worker } from 'node:worker_threads';
import { reasonOf } from '../../base/log';
import type { FollowSettings } from './follow-worker';

const ENDS_WITHIN_MS = 10_000;

/**
 * Imports Grid Engine's accounting as it is written, in a thread of its own, so that how a job ended is known seconds
 * after its line. Where that can't be (no cell here, no right to write the accounting DB), `log` is called with the reason.
 */
export function followAccounting(
  settings: FollowSettings,
  log: (line: string) => void,
): { readonly stop: () => Promise<void> } {
  const worker = new Worker(join(__dirname, 'follow-worker.js'), { workerData: settings });
  const ended = new Promise<void>((resolve) => worker.once('exit', () => resolve()));
  worker.on('message', log);
  worker.on('error', (error) => log(`Grid Engine's accounting is not followed any more: ${reasonOf(error)}`));
  return {
    stop: async () => {
      worker.postMessage('stop');
      const late = setTimeout(() => void worker.terminate(), ENDS_WITHIN_MS);
      await ended;
      clearTimeout(late);
    },
  };
}

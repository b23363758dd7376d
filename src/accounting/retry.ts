import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from '../base/monotonic';
import { StoreError } from './store-error';

const FIRST_WAIT_MS = 100;
const LONGEST_WAIT_MS = 30_000;

/** The wait before try `attempt` (from 1): doubling, and random in its upper half, so that many hosts spread. */
export function backoffMs(attempt: number, random = Math.random): number {
  return Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** Math.min(attempt - 1, 20)) * (0.5 + random() / 2);
}

/**
 * Repeats `step` while it fails with a StoreError that may pass, for `patienceMs` or until `signal` asks for an end;
 * `onFault` is called at each failure. Throws the last error.
 */
export async function withPatience<T>(
  step: () => Promise<T>,
  patienceMs: number,
  onFault: (fault: StoreError) => void,
  signal?: AbortSignal,
): Promise<T> {
  const deadline = monotonicMs() + patienceMs;
  for (let attempt = 1; ; attempt++) {
    try {
      return await step();
    } catch (error) {
      if (!(error instanceof StoreError)) throw error;
      onFault(error);
      const wait = backoffMs(attempt);
      if (!error.retry || monotonicMs() + wait > deadline) throw error;
      await sleep(wait, undefined, signal === undefined ? {} : { signal }).catch(() => undefined);
      if (signal?.aborted) throw error;
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { monotonicMs } from './monotonic';

/** Asks every `everyMs` until there is an answer (neither null nor false), `withinMs` at most; resolves to the last. */
export async function until<T>(ask: () => T | Promise<T>, withinMs: number, everyMs: number): Promise<T> {
  const deadline = monotonicMs() + withinMs;
  for (;;) {
    const answer = await ask();
    if ((answer !== null && answer !== false) || monotonicMs() > deadline) return answer;
    await sleep(everyMs);
  }
}

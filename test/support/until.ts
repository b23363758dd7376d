import { setTimeout as sleep } from 'node:timers/promises';

/** How long a test waits for an event: a loaded machine takes minutes for what an idle one does at once. */
export const PATIENCE_MS = 600_000;

type NotYet = null | undefined | false;

/** Rest after a look, as a multiple of its duration: slow looks take at most a seventh of the time. */
const REST = 6;

/**
 * Calls `look` every `everyMs` or less often until it returns a value, and returns that. Rejects after `PATIENCE_MS`;
 * `what` names the awaited event in the message.
 */
export async function until<T>(
  look: () => T | NotYet | Promise<T | NotYet>,
  what: string | (() => string | Promise<string>) = String(look),
  everyMs = 100,
): Promise<T> {
  for (const end = performance.now() + PATIENCE_MS; ;) {
    const began = performance.now();
    const found = await look();
    if (found !== null && found !== undefined && found !== false) return found;
    if (performance.now() > end)
      throw new Error(`not within ${PATIENCE_MS / 1000} s: ${typeof what === 'string' ? what : await what()}`);
    await sleep(Math.max(everyMs, REST * (performance.now() - began)));
  }
}

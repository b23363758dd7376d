import { setTimeout as sleep } from 'node:timers/promises';

/** How long a test waits for what must come: a loaded machine takes minutes over what an idle one does at once. */
export const PATIENCE_MS = 600_000;

type NotYet = null | undefined | false;

/** A look that takes long, as one at every process does, takes a seventh of the time at most. */
const REST = 6;

/**
 * Looks again and again, every so many ms or less often, until there is something, and returns that. Rejects after
 * `PATIENCE_MS`, with what was waited for.
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

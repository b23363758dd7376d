import { setTimeout as sleep } from 'node:timers/promises';

/** How long a test waits for what must come: a loaded machine takes minutes over what an idle one does at once. */
export const PATIENCE_MS = 600_000;

/**
 * Calls `attempt` every `everyMs` until it gives something other than null, and returns that.
 * Rejects after `timeoutMs`, with what `explain` says.
 */
export async function waitFor<T>(
  attempt: () => T | null | Promise<T | null>,
  explain: () => string | Promise<string>,
  everyMs = 50,
  timeoutMs = PATIENCE_MS,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await attempt();
    if (value !== null) return value;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${await explain()}`);
    await sleep(everyMs);
  }
}

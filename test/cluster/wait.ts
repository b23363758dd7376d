import { setTimeout as sleep } from 'node:timers/promises';

/**
 * Calls `attempt` every `everyMs` until it gives something other than null, and returns that.
 * Rejects after `timeoutMs`, with what `explain` says.
 */
export async function waitFor<T>(
  attempt: () => T | null | Promise<T | null>,
  timeoutMs: number,
  explain: () => string | Promise<string>,
  everyMs = 50,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await attempt();
    if (value !== null) return value;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms: ${await explain()}`);
    await sleep(everyMs);
  }
}

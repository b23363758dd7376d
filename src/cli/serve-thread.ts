import { setTimeout as sleep } from 'node:timers/promises';
import { UserError, reasonOf } from '../base/user-error';
import { loadSettings, type Settings } from '../record/settings';
import { delivererIdentity } from '../sampler/delivery/outbox-feeder';

const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 60_000;

/** The settings for a thread of the server. Throws SettingsError, and UserError if the server runs as root. */
export function threadSettings(config: string): Settings {
  const settings = loadSettings(config);
  if (delivererIdentity(settings.deliver_as) !== null)
    throw new UserError('the server runs as root; start it as the user of deliver_as');
  return settings;
}

/** Waits, but ends at once when `signal` is aborted. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/**
 * Repeats `work` until `signal` is aborted; a failure is reported to `failed`, and tried again: after a second, as a
 * restart of a database takes no longer, then after twice as long each time, up to a minute.
 */
export async function keepAtWork(
  work: () => Promise<void>,
  signal: AbortSignal,
  failed: (reason: string) => void,
): Promise<void> {
  let pauseMs = FIRST_PAUSE_MS;
  while (!signal.aborted) {
    const began = performance.now();
    try {
      await work();
    } catch (error) {
      failed(reasonOf(error));
      if (performance.now() - began > LONGEST_PAUSE_MS) pauseMs = FIRST_PAUSE_MS;
      await pause(pauseMs, signal);
      pauseMs = Math.min(2 * pauseMs, LONGEST_PAUSE_MS);
    }
  }
}

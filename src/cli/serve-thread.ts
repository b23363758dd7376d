import { setTimeout as sleep } from 'node:timers/promises';
import { UserError, reasonOf } from '../base/user-error';
import { loadSettings, type Settings } from '../record/settings';
import { delivererIdentity } from '../sampler/delivery/outbox-feeder';

const AGAIN_MS = 60_000;

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

/** Repeats `work` until `signal` is aborted; a failure is reported to `failed`, and tried again after a minute. */
export async function keepAtWork(
  work: () => Promise<void>,
  signal: AbortSignal,
  failed: (reason: string) => void,
): Promise<void> {
  while (!signal.aborted) {
    try {
      await work();
    } catch (error) {
      failed(reasonOf(error));
      await pause(AGAIN_MS, signal);
    }
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { UserError, reasonOf } from '../base/user-error';
import { loadSettings, type Settings } from '../record/settings';
import { delivererIdentity } from '../sampler/delivery/outbox-feeder';

const AGAIN_MS = 60_000;

/** The settings of a thread of the server. Throws SettingsError, and UserError where the server is root's. */
export function threadSettings(config: string): Settings {
  const settings = loadSettings(config);
  if (delivererIdentity(settings.deliver_as) !== null)
    throw new UserError('the server runs as root; start it as the user of deliver_as');
  return settings;
}

/** Waits, but not for what is to stop. */
export const pause = (ms: number, signal: AbortSignal): Promise<void> =>
  sleep(ms, undefined, { signal }).catch(() => undefined);

/** Does work until it is to stop; where it can't be done, `failed` hears why, and it is tried again. */
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

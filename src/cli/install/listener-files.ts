import { until } from '../../base/until';
import type { Settings } from '../../record/settings';
import { retireListener } from '../../sampler/listener/directory';
import { runningListener, settingsDigest } from '../../sampler/listener/running';
import type { SystemPlaces } from './places';
import { LISTENER, removalSteps, setUpSteps, startHook, type Host } from './services';
import type { Step } from './steps';
import { runsCurrent } from './versions';

const BEGINS_WITHIN_MS = 15_000;

/** Whether the listener is a service that stays between jobs, not one that samplers start and that ends after them. */
const isService = (settings: Settings): boolean => settings.listener && settings.listener_linger === Infinity;

async function another(settings: Settings, before: number | null): Promise<string | null> {
  const pid = (): number | null => runningListener(settings)?.pid ?? null;
  if (await until(() => ![null, before].includes(pid()), BEGINS_WITHIN_MS, 20)) return null;
  return `the listener did not start within ${BEGINS_WITHIN_MS / 1000} s; the system log may show why; ${LISTENER.without}`;
}

/**
 * Makes this host's listener run from now on and after each boot. `renewed`: the program has changed. Running jobs keep
 * their present listener, which ends after the last of them.
 */
export function listenerSteps(host: Host, renewed: boolean): Step[] {
  const { places, prefix, settings } = host;
  if (!isService(settings)) return removeListenerSteps(places, settings, renewed);
  const running = runningListener(settings);
  return setUpSteps(LISTENER, host, {
    runs: !renewed && running?.settings === settingsDigest(settings) && runsCurrent(running.pid, prefix),
    now: { says: 'start the listener of this node', apply: () => startHook(host, LISTENER, 'listener.sh', '--renew') },
    look: () => another(settings, running?.pid ?? null),
  });
}

/** Ends the listener service; `renewed`: also a listener that samplers have started. */
export function removeListenerSteps(places: SystemPlaces, settings: Settings, renewed: boolean): Step[] {
  const retire = async (): Promise<null> => {
    await retireListener(settings);
    return null;
  };
  return removalSteps(LISTENER, places, retire, renewed && runningListener(settings) !== null);
}

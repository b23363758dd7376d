import { until } from '../../base/until';
import type { Settings } from '../../record/settings';
import { restartSamplers } from '../../sampler/service/restart-samplers';
import { servicePid } from '../../sampler/service/service-lock';
import { removalSteps, SAMPLER, setUpSteps, startHook, type Host } from './services';
import type { Step } from './steps';
import { runsCurrent } from './versions';

const ENDS_WITHIN_MS = 10_000;

/** Ends the host's sampler, which stores what it knows for its successor. */
async function endSampler(settings: Settings): Promise<void> {
  const pid = servicePid(settings);
  if (pid === null) return;
  process.kill(pid, 'SIGTERM');
  await until(() => servicePid(settings) !== pid, ENDS_WITHIN_MS, 20);
}

/**
 * Makes the host's sampler service run, or end, as the scope says; `renewed`: the program has changed. The new samplers
 * take over running jobs.
 */
export function samplerSteps(host: Host, renewed: boolean): Step[] {
  const { prefix, settings } = host;
  if (settings.scope !== 'node') return removeSamplerSteps(host);
  const pid = servicePid(settings);
  return setUpSteps(SAMPLER, host, {
    runs: !renewed && pid !== null && runsCurrent(pid, prefix),
    now: {
      says: 'start the sampler of this node',
      apply: async () => {
        await endSampler(settings);
        return startHook(host, SAMPLER, 'sampler.sh', '--detach');
      },
    },
  });
}

/** Ends the host's sampler service and starts a sampler for each of its jobs. */
export function removeSamplerSteps({
  places,
  settings,
  settingsPath,
}: Pick<Host, 'places' | 'settings' | 'settingsPath'>): Step[] {
  const end = async (): Promise<null> => {
    await endSampler(settings);
    restartSamplers(settings, settingsPath);
    return null;
  };
  return removalSteps(SAMPLER, places, end, servicePid(settings) !== null);
}

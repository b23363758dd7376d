import { retireListener } from '../../sampler/listener/directory';
import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningListener, settingsDigest } from '../../sampler/listener/running';
import type { Settings } from '../../record/settings';
import { hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './steps';
import { fileSteps, filesOf, fromTemplate, startUnits, stopUnits, unattended, type SystemFiles } from './system-files';

const UNIT = 'qmemacct-listener.service';
const CRON = 'qmemacct-listener';
const BEGINS_WITHIN_MS = 15_000;
const WITHOUT_LISTENER = 'until it runs, the peak of the first job after a pause is not proved';

/** Whether it is a service of the node that stays between jobs, not one that comes and goes with samplers. */
const isService = (settings: Settings): boolean => settings.listener && settings.listener_linger === Infinity;

async function another(settings: Settings, before: number | null): Promise<string | null> {
  const deadline = performance.now() + BEGINS_WITHIN_MS;
  while (performance.now() < deadline) {
    const running = runningListener(settings);
    if (running !== null && running.pid !== before) return null;
    await sleep(20);
  }
  return `the listener did not start within ${BEGINS_WITHIN_MS / 1000} s; the system log may show why; ${WITHOUT_LISTENER}`;
}

function startDetached(prefix: string): string | null {
  const { status } = spawnSync('/bin/sh', ['-p', join(hookDirectory(prefix), 'listener.sh'), '--renew'], {
    stdio: 'ignore',
    timeout: 10_000,
  });
  return status === 0 ? null : `the listener did not start (status ${status ?? 'none'}); ${WITHOUT_LISTENER}`;
}

function startStep(says: string, settings: Settings, start: () => string | null): Step {
  return {
    says,
    apply: async () => {
      const before = runningListener(settings)?.pid ?? null;
      return start() ?? (await another(settings, before));
    },
  };
}

/**
 * What makes this host's listener run, from now on and after each boot. `renewed`: the program has changed. Jobs that
 * run stay with the listener that they have, which ends after the last of them.
 */
export function listenerSteps(files: SystemFiles, settings: Settings, renewed: boolean): Step[] {
  const { places, prefix } = files;
  if (!isService(settings)) return removeListenerSteps(places, settings, renewed);
  const runs = !renewed && runningListener(settings)?.settings === settingsDigest(settings);
  const { units, cron } = places;
  if (units !== null) {
    const written = fileSteps(join(units, UNIT), fromTemplate(files, UNIT));
    if (written.length === 0 && runs) return [];
    const start = (): string | null => startUnits([UNIT], WITHOUT_LISTENER);
    return [...written, startStep(`systemctl enable ${UNIT}, and start it anew`, settings, start)];
  }
  const written = cron === null ? [] : fileSteps(join(cron, CRON), fromTemplate(files, `${CRON}.cron`));
  if (runs) return written;
  return [
    ...written,
    startStep('start the listener of this node', settings, () => startDetached(prefix)),
    ...(cron === null ? [unattended('hooks/listener.sh --detach runs after each boot')] : []),
  ];
}

/** Ends the listener as a service; `renewed`: also one that samplers have started. */
export function removeListenerSteps(places: SystemPlaces, settings: Settings, renewed: boolean): Step[] {
  const files = filesOf(places, [UNIT], CRON);
  const running = runningListener(settings) !== null;
  if (files.length === 0 && !(renewed && running)) return [];
  const stop: Step = {
    says: 'end the listener of this node after the jobs that run',
    apply: async () => {
      const problem = files.some((path) => path.endsWith(UNIT)) ? stopUnits(UNIT) : null;
      await retireListener(settings);
      return problem;
    },
  };
  return [stop, ...files.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true })))];
}

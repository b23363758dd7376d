import { retireListener } from '../../sampler/listener/directory';
import { spawnSync } from 'node:child_process';
import { existsSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { runningListener, settingsDigest } from '../../sampler/listener/running';
import type { Settings } from '../../record/settings';
import { hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './steps';
import { fileSteps, fromTemplate, systemctl, type SystemFiles } from './system-files';

const UNIT = 'qmemacct-listener.service';
const CRON = 'qmemacct-listener';
const BEGINS_WITHIN_MS = 15_000;
const WITHOUT_LISTENER = 'until it runs, the peak of the first job after a pause is not proved';

function unitPath(places: SystemPlaces): string | null {
  return places.units === null ? null : join(places.units, UNIT);
}

function cronPath(places: SystemPlaces): string | null {
  return places.units !== null || places.cron === null ? null : join(places.cron, CRON);
}

/** Files of the listener that an installation may have written. */
function listenerFiles(places: SystemPlaces): readonly string[] {
  return [unitPath(places), cronPath(places)].filter((path) => path !== null && existsSync(path)) as string[];
}

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
  const unit = unitPath(places);
  if (unit !== null) {
    const written = fileSteps(unit, fromTemplate(files, UNIT));
    if (written.length === 0 && runs) return [];
    const start = (): string | null =>
      systemctl(['daemon-reload'], WITHOUT_LISTENER) ??
      systemctl(['enable', UNIT], WITHOUT_LISTENER) ??
      systemctl(['restart', UNIT], WITHOUT_LISTENER);
    return [...written, startStep(`systemctl enable ${UNIT}, and start it anew`, settings, start)];
  }
  const cron = cronPath(places);
  const written = cron === null ? [] : fileSteps(cron, fromTemplate(files, `${CRON}.cron`));
  if (runs) return written;
  const unattended =
    'neither systemd nor cron runs here; see to it that hooks/listener.sh --detach runs after each boot';
  return [
    ...written,
    startStep('start the listener of this node', settings, () => startDetached(prefix)),
    ...(cron === null ? [{ says: 'look for systemd or cron', apply: () => unattended }] : []),
  ];
}

/** Ends the listener as a service; `renewed`: also one that samplers have started. */
export function removeListenerSteps(places: SystemPlaces, settings: Settings, renewed: boolean): Step[] {
  const files = listenerFiles(places);
  const running = runningListener(settings) !== null;
  if (files.length === 0 && !(renewed && running)) return [];
  const stop: Step = {
    says: 'end the listener of this node after the jobs that run',
    apply: async () => {
      const isUnit = files.some((path) => path.endsWith(UNIT));
      const problem = isUnit ? systemctl(['disable', '--now', UNIT], 'end it by hand') : null;
      await retireListener(settings);
      return problem;
    },
  };
  return [stop, ...files.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true })))];
}

import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { restartSamplers } from '../../sampler/service/restart-samplers';
import { servicePid } from '../../sampler/service/service-lock';
import type { Settings } from '../../record/settings';
import { hookDirectory, type SystemPlaces } from './places';
import { step, type Step } from './steps';
import { fileSteps, filesOf, fromTemplate, startUnits, stopUnits, unattended, type SystemFiles } from './system-files';

const UNIT = 'qmemacct-sampler.service';
const CRON = 'qmemacct-sampler';
const ENDS_WITHIN_MS = 10_000;
const WITHOUT_SERVICE = 'until it runs, each job gets a sampler of its own, and tasks of jobs on other hosts get none';

/** Ends the service of this host, which keeps what it knows for the next one. Resolves to whether one had been there. */
async function endService(settings: Settings): Promise<boolean> {
  const pid = servicePid(settings);
  if (pid === null) return false;
  process.kill(pid, 'SIGTERM');
  const deadline = Date.now() + ENDS_WITHIN_MS;
  while (servicePid(settings) === pid && Date.now() < deadline) await sleep(20);
  return true;
}

function startNow(prefix: string): string | null {
  const { status } = spawnSync('/bin/sh', ['-p', join(hookDirectory(prefix), 'sampler.sh'), '--detach'], {
    stdio: 'ignore',
    timeout: 10_000,
  });
  return status === 0 ? null : `the service did not start (status ${status ?? 'none'}); ${WITHOUT_SERVICE}`;
}

/**
 * What makes this host's service run, or end, as the scope says; `renewed`: the program has changed. Jobs that run go
 * from one to the other.
 */
export function serviceSteps(files: SystemFiles, settings: Settings, renewed: boolean): Step[] {
  const { places, prefix } = files;
  if (settings.scope !== 'node') return removeServiceSteps(places, settings, files.settingsPath);
  const { units, cron } = places;
  if (units !== null) {
    const written = fileSteps(join(units, UNIT), fromTemplate(files, UNIT));
    if (written.length === 0 && !renewed && servicePid(settings) !== null) return [];
    return [
      ...written,
      { says: `systemctl enable ${UNIT}, and start it anew`, apply: () => startUnits([UNIT], WITHOUT_SERVICE) },
    ];
  }
  const written = cron === null ? [] : fileSteps(join(cron, CRON), fromTemplate(files, `${CRON}.cron`));
  if (written.length === 0 && !renewed && servicePid(settings) !== null) return [];
  return [
    ...written,
    {
      says: 'start the sampler of this node',
      apply: async () => {
        await endService(settings);
        return startNow(prefix);
      },
    },
    ...(cron === null ? [unattended('hooks/sampler.sh --detach runs after each boot')] : []),
  ];
}

/** Ends the service and hands each of its jobs to a sampler of its own. */
export function removeServiceSteps(places: SystemPlaces, settings: Settings, settingsPath: string): Step[] {
  const files = filesOf(places, [UNIT], CRON);
  const running = servicePid(settings) !== null;
  if (files.length === 0 && !running) return [];
  const stop: Step[] = [
    {
      says: 'end the sampler of this node, and start one for each of its jobs',
      apply: async () => {
        const problem = files.some((path) => path.endsWith(UNIT)) ? stopUnits(UNIT) : null;
        await endService(settings);
        restartSamplers(settings, settingsPath);
        return problem;
      },
    },
  ];
  return [...stop, ...files.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true })))];
}

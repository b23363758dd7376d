import { lstatSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Settings } from '../../record/settings';
import { makeNightPlaces, nightPlaces } from '../nightly/report-files';
import { leaveSteps, removeSteps, writeSteps } from './kept-files';
import type { SystemPlaces } from './places';
import type { Step } from './steps';
import { filesOf, fromTemplate, stopUnits, systemctl, timerStep, unattended, type SystemFiles } from './system-files';

const SERVICE = 'qmemacct-nightly.service';
const TIMER = 'qmemacct-nightly.timer';
const UNITS = [SERVICE, TIMER] as const;
/** cron passes over names with a dot. */
const CRON = 'qmemacct-nightly';
const ENDS_BY_ITSELF = 'a nightly job that runs ends by itself';
const WITHOUT_TIMER = 'no reports come until hooks/nightly.sh runs every night';

/** Whether something on this host starts the nightly job. */
export function startsNightly(places: SystemPlaces): boolean {
  return filesOf(places, UNITS, CRON).some((path) => basename(path) !== SERVICE);
}

function isMissing(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) === undefined;
}

function placeSteps(settings: Settings): Step[] {
  const missing = nightPlaces(settings).filter(({ path }) => isMissing(path));
  if (missing.length === 0) return [];
  return [
    {
      says: `make ${missing.map(({ path, mode }) => `${path} (${mode.toString(8)})`).join(' and ')}`,
      apply: () => {
        makeNightPlaces(settings);
        const [first] = missing.filter(({ path }) => isMissing(path));
        if (first === undefined) return null;
        const { path, mode, uid, gid } = first;
        return `${path} was not made: its parent is not root's alone; install -d -m ${mode.toString(8)} -o ${uid} -g ${gid} ${path}`;
      },
    },
  ];
}

/** Runs hooks/nightly.sh every night on this host, as the user of the accounting DB: by a systemd timer, else by cron. */
export function nightlySteps(files: SystemFiles, settings: Settings): Step[] {
  const { units, cron } = files.places;
  const user = settings.deliver_as === '' ? 'nobody' : settings.deliver_as;
  const text = (name: string): string => fromTemplate(files, name).replaceAll('@USER@', user);
  const places = placeSteps(settings);
  if (units !== null) {
    const left = leaveSteps(UNITS.map((name) => join(units, name)));
    const written = UNITS.flatMap((name) => writeSteps(join(units, name), text(name)));
    if (written.length === 0) return [...places, ...left];
    return [...places, ...left, ...written, timerStep(TIMER, WITHOUT_TIMER)];
  }
  if (cron !== null) {
    const path = join(cron, CRON);
    return [...places, ...leaveSteps([path]), ...writeSteps(path, text('qmemacct-nightly.cron'))];
  }
  return [...places, unattended('hooks/nightly.sh runs every night')];
}

/** Ends the nightly job of this host and takes its files away; those that were changed stay, and do nothing any more. */
export function removeNightlySteps(places: SystemPlaces): Step[] {
  const files = filesOf(places, UNITS, CRON);
  const has = (name: string): boolean => files.some((path) => basename(path) === name);
  return [
    ...(has(TIMER) ? [{ says: `stop ${TIMER}`, apply: () => stopUnits(TIMER) }] : []),
    // One that runs ends in a good state.
    ...(has(SERVICE) ? [{ says: `stop ${SERVICE}`, apply: () => systemctl(['stop', SERVICE], ENDS_BY_ITSELF) }] : []),
    ...removeSteps(files),
  ];
}

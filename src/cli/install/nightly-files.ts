import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readFileSync, rmSync } from 'node:fs';
import { basename, join } from 'node:path';
import type { Settings } from '../../record/settings';
import { makeNightPlaces, nightPlaces } from '../nightly/report-files';
import type { SystemPlaces } from './places';
import { step, type Step } from './steps';
import { fileSteps, fromTemplate, stopTimer, systemctl, type SystemFiles } from './system-files';

const SERVICE = 'qmemacct-nightly.service';
const TIMER = 'qmemacct-nightly.timer';
const UNITS = [SERVICE, TIMER] as const;
/** cron passes over names with a dot. */
const CRON = 'qmemacct-nightly';
const ENDS_BY_ITSELF = 'a nightly job that runs ends by itself';
const WITHOUT_TIMER = 'no reports come until hooks/nightly.sh runs every night';

/** Files of the nightly job that an installation may have written. */
function nightlyFiles({ units, cron }: SystemPlaces): readonly string[] {
  const paths = units !== null ? UNITS.map((name) => join(units, name)) : cron !== null ? [join(cron, CRON)] : [];
  return paths.filter((path) => existsSync(path));
}

/** Whether something on this host starts the nightly job. */
export function startsNightly(places: SystemPlaces): boolean {
  return nightlyFiles(places).some((path) => basename(path) !== SERVICE);
}

/** An admin's own, or one of ours that an admin has changed: the unit says where Grid Engine is to be named, for one. */
function isChanged(path: string): boolean {
  return existsSync(path) && !isAsWritten(readFileSync(path, 'utf8'));
}

function leave(path: string, fix: string): Step {
  return { says: `leave ${path}`, apply: () => `${path}: was changed on this host, and stays; ${fix}` };
}

/** Writes a file, unless there is one that was changed. */
function writeSteps(path: string, text: string): Step[] {
  return isChanged(path) ? [] : fileSteps(path, withSum(text));
}

function leaveSteps(paths: readonly string[]): Step[] {
  return paths.filter(isChanged).map((path) => leave(path, 'remove it and install again to get the new one'));
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
    return [
      ...places,
      ...left,
      ...written,
      {
        says: `systemctl enable --now ${TIMER}`,
        apply: () =>
          systemctl(['daemon-reload'], WITHOUT_TIMER) ?? systemctl(['enable', '--now', TIMER], WITHOUT_TIMER),
      },
    ];
  }
  if (cron !== null) {
    const path = join(cron, CRON);
    return [...places, ...leaveSteps([path]), ...writeSteps(path, text('qmemacct-nightly.cron'))];
  }
  return [
    ...places,
    {
      says: 'look for systemd or cron',
      apply: () => 'neither runs here; see to it that hooks/nightly.sh runs every night',
    },
  ];
}

/** Ends the nightly job of this host and takes its files away; those that were changed stay, and do nothing any more. */
export function removeNightlySteps(places: SystemPlaces): Step[] {
  const files = nightlyFiles(places);
  const has = (name: string): boolean => files.some((path) => basename(path) === name);
  const ours = files.filter((path) => !isChanged(path));
  return [
    ...(has(TIMER) ? [{ says: `stop ${TIMER}`, apply: () => stopTimer(TIMER) }] : []),
    // One that runs ends in a good state.
    ...(has(SERVICE) ? [{ says: `stop ${SERVICE}`, apply: () => systemctl(['stop', SERVICE], ENDS_BY_ITSELF) }] : []),
    ...ours.map((path) => step(`remove ${path}`, () => rmSync(path, { force: true }))),
    ...files.filter(isChanged).map((path) => leave(path, 'without the program it does nothing; remove it by hand')),
  ];
}

const SUM_LINE = /^# Sum of the lines above: ([0-9a-f]{16})\b.*\n$/m;

function sumOf(text: string): string {
  return createHash('sha256').update(text).digest('hex').slice(0, 16);
}

/** A text of whole lines, in which "#" begins a comment, with a last line that tells whether it was changed since. */
export function withSum(text: string): string {
  return `${text}# Sum of the lines above: ${sumOf(text)}. Where it is not, this file was changed: upgrades leave it alone.\n`;
}

/** Whether a text is one of `withSum`, unchanged. */
export function isAsWritten(text: string): boolean {
  const found = SUM_LINE.exec(text);
  return (
    found !== null && found.index + found[0].length === text.length && found[1] === sumOf(text.slice(0, found.index))
  );
}

import { existsSync, lstatSync } from 'node:fs';
import { join } from 'node:path';
import type { Settings } from '../../sampler/settings';
import { makeNightPlaces, nightPlaces } from '../nightly/night-places';
import type { SystemPlaces } from './places';
import type { Step } from './step';
import { fileSteps, fromTemplate, systemctl, type SystemFiles } from './system-files';

const UNITS = ['qmemacct-nightly.service', 'qmemacct-nightly.timer'] as const;
/** cron passes over names with a dot. */
const CRON = 'qmemacct-nightly';
const WITHOUT_TIMER = 'no reports come until hooks/nightly.sh runs every night';

/** Files of the nightly job that an installation may have written. */
export function nightlyFiles({ units, cron }: SystemPlaces): readonly string[] {
  const paths = units !== null ? UNITS.map((name) => join(units, name)) : cron !== null ? [join(cron, CRON)] : [];
  return paths.filter((path) => existsSync(path));
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
    const written = UNITS.flatMap((name) => fileSteps(join(units, name), text(name)));
    if (written.length === 0) return places;
    return [
      ...places,
      ...written,
      {
        says: 'systemctl enable --now qmemacct-nightly.timer',
        apply: () =>
          systemctl(['daemon-reload'], WITHOUT_TIMER) ??
          systemctl(['enable', '--now', 'qmemacct-nightly.timer'], WITHOUT_TIMER),
      },
    ];
  }
  if (cron !== null) return [...places, ...fileSteps(join(cron, CRON), text('qmemacct-nightly.cron'))];
  return [
    ...places,
    {
      says: 'look for systemd or cron',
      apply: () => 'neither runs here; see to it that hooks/nightly.sh runs every night',
    },
  ];
}

import type { Settings } from '../../record/settings';
import { nightlySettings } from '../nightly/nightly-config';
import { makeNightPlaces, nightPlaces } from '../nightly/report-files';
import { directoryFault, type WantedDirectory } from './directories';
import { isAttended, isTimed, NIGHTLY, setUpSteps, type Host } from './services';
import type { Step } from './steps';

const isMissing = (place: WantedDirectory): boolean => directoryFault(place) === 'is missing';

function placeSteps(settings: Settings): Step[] {
  const missing = nightPlaces(settings).filter(isMissing);
  if (missing.length === 0) return [];
  return [
    {
      says: `make ${missing.map(({ path, mode }) => `${path} (${mode.toString(8)})`).join(' and ')}`,
      apply: () => {
        makeNightPlaces(settings);
        const [first] = missing.filter(isMissing);
        if (first === undefined) return null;
        const { path, mode, uid, gid } = first;
        return `${path} was not made: its parent is not root's alone; install -d -m ${mode.toString(8)} -o ${uid} -g ${gid} ${path}`;
      },
    },
  ];
}

/**
 * Makes this host run hooks/nightly.sh every night, as the user of the accounting DB: by a systemd timer, else by cron.
 * `asked`: even if an admin has stopped the timer.
 */
export function nightlySteps(host: Host, asked: boolean): Step[] {
  const { places, settings, settingsPath } = host;
  const runs = asked ? isTimed(NIGHTLY, places) : isAttended(places);
  return [...placeSteps(nightlySettings(settingsPath, settings)), ...setUpSteps(NIGHTLY, host, { runs })];
}

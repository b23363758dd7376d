import type { SystemPlaces } from '../install/places';
import { FLUSH, isSetUp, isTimed, NIGHTLY } from '../install/services';
import { findingsIn, type Finding } from './finding';

const { ok, warning } = findingsIn('timers');

/** What is installed to be started at its time, whether it will be: a timer that somebody has stopped says nothing. */
export function checkTimers(places: SystemPlaces): Finding[] {
  return [FLUSH, NIGHTLY]
    .filter((service) => isSetUp(service, places))
    .map((service) => {
      const { name, without } = service;
      return isTimed(service, places)
        ? ok(name, 'waits for its next time')
        : warning(name, `its timer is not active: ${without}`, `systemctl enable --now ${name}.timer`);
    });
}

import type { SystemPlaces } from '../install/places';
import { FLUSH, isSetUp, isTimed, NIGHTLY, SERVER, SERVICES } from '../install/services';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, warning } = findingsIn('timers');

/** Checks that the timers of installed services are active: a stopped timer would go unnoticed. */
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

const INSTALL = 'run "qmemacct install --node';
const NO_MORE = 'where it is not to run here any more';
/** What only an option of the installation brings back. */
const ASKED = new Map([
  [NIGHTLY, `${INSTALL} --nightly", or without --nightly ${NO_MORE}`],
  [SERVER, `${INSTALL} --serve", or without --serve ${NO_MORE}`],
]);

/** What the installation set up to be started by itself, whether its files are still there. */
export function checkServices({ stamp }: Pick<NodeState, 'stamp'>, places: SystemPlaces): Finding[] {
  const installed = stamp?.services ?? [];
  return SERVICES.filter((service) => installed.includes(service.name) && !isSetUp(service, places)).map((service) =>
    findingsIn('services').warning(
      service.name,
      `what starts it has been removed from this host: ${service.without}`,
      ASKED.get(service) ?? `${INSTALL}"`,
    ),
  );
}

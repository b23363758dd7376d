import { readdirSync } from 'node:fs';
import { join } from 'node:path';
import { textOfUntrusted } from '../../base/read-untrusted';
import type { SystemPlaces } from '../install/places';
import { FLUSH, isSetUp, isTimed, NIGHTLY, SERVER, SERVICES } from '../install/services';
import { findingsIn, type Finding } from './finding';
import type { NodeState } from './node-state';

const { ok, warning } = findingsIn('timers');

const CRONS = new Set(['cron', 'crond', 'fcron']);

function cronRuns(procRoot: string): boolean {
  const nameOf = (pid: string): string => textOfUntrusted(join(procRoot, pid, 'comm'), 256)?.trimEnd() ?? '';
  return readdirSync(procRoot).some((pid) => /^\d+$/.test(pid) && CRONS.has(nameOf(pid)));
}

/** Checks that the timers of installed services are active: a stopped timer, or cron, would go unnoticed. */
export function checkTimers(places: SystemPlaces, procRoot = '/proc'): Finding[] {
  const services = [FLUSH, NIGHTLY].filter((service) => isSetUp(service, places));
  if (services.length > 0 && places.units === null && !cronRuns(procRoot))
    return [
      warning('cron', `no process cron or crond: ${services.map(({ without }) => without).join('; ')}`, 'start it'),
    ];
  return services.map((service) => {
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

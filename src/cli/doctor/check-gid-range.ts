import { configurationValue, isNone, readConfiguration } from '../../gridengine/configuration';
import type { Qconf } from '../../gridengine/qconf';
import { parseQueueValue, queueValuesFor } from '../../gridengine/queue-value';
import { showQconf, type Site } from '../../gridengine/site';
import { findingsIn, type Finding } from './finding';

const { ok, warning } = findingsIn('Grid Engine');

/** How many group ids `20000-20100,30000` holds; null: it can't be read. */
function idsIn(range: string): number | null {
  let count = 0;
  for (const part of range.split(/[\s,]+/)) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(part) ?? [];
    if (first === undefined) return null;
    count += Number(last) - Number(first) + 1;
  }
  return count;
}

/** The slots of a host by what `qconf -se` prints of it and by its queues; null: nothing says how many. */
export function slotsOf(site: Site, host: string, executionHost: string): number | null {
  const groups = [...site.groups].flatMap(([group, members]) => (members.includes(host) ? group : []));
  const inQueues = [...site.queues.values()].reduce((sum, { configuration, hosts }) => {
    const parsed = parseQueueValue(configurationValue(configuration, 'slots') ?? '0');
    const [own = '0'] = hosts.includes(host) && parsed.ok ? queueValuesFor(parsed.value, host, groups) : [];
    return sum + (Number(own) || 0);
  }, 0);
  const values = configurationValue(readConfiguration(executionHost), 'complex_values') ?? '';
  const limit = Number(/(?:^|,)slots=(\d+)/.exec(values)?.[1] ?? Infinity);
  const slots = Math.min(inQueues, limit);
  return slots > 0 ? slots : null;
}

/** As slotsOf, asking qmaster; null also where `host` is null. Rejects with QconfError. */
export async function askSlots(qconf: Qconf, site: Site, host: string | null): Promise<number | null> {
  return host === null ? null : slotsOf(site, host, await showQconf(qconf, ['-se', host]));
}

/** Checks gid_range: each running job or task of a host needs a group of its own. `slots`: those of the host. */
export function checkGidRange(range: string | null, slots: number | null): Finding {
  if (range === null || isNone(range))
    return warning(
      'gid_range',
      'not set: processes that leave their parents are lost, for us and for Grid Engine',
      'set gid_range with qconf -mconf',
    );
  const ids = idsIn(range);
  if (ids !== null && slots !== null && ids < slots)
    return warning(
      'gid_range',
      `${range}: ${ids} for ${slots} slots; once all are in use, execd starts no further job (failed 1)`,
      'widen it with qconf -mconf, where no group of the system is',
    );
  return ok('gid_range', range);
}

import type { JsonHandler } from '../json/scan';
import type { HostBuilder } from './host-builder';

/** What an object or array is, by what it stands in and its key (none: an element of an array). */
const places: ReadonlyMap<string, string> = new Map([
  ['.', 'root'],
  ['root.hosts', 'hosts'],
  ['hosts.', 'host'],
  ['host.resources', 'resources'],
  ['resources.', 'resource'],
  ['host.queues', 'queues'],
  ['queues.', 'queue'],
  ['host.jobs', 'jobs'],
  ['queue.jobs', 'jobs'],
  ['jobs.', 'job'],
]);

/**
 * `qhost -fmt json` of Open Cluster Scheduler 9.2: `hosts` with their values, `resources`, `queues` and `jobs`; with
 * `-q` the jobs stand in their queues. A host that is down has 0 where the XML has `-`; only its architecture is `-`.
 */
export function qhostJson(hosts: HostBuilder): JsonHandler {
  const around: string[] = [];
  let hostValues = new Map<string, string>();
  let resource = { name: '', dominance: '', value: '' };

  function open(place: string): void {
    if (place === 'host') {
      hosts.host('');
      hostValues = new Map();
    } else if (place === 'queue') hosts.queue('');
    else if (place === 'job') hosts.job('');
    else if (place === 'resource') resource = { name: '', dominance: '', value: '' };
  }

  function closeHost(): void {
    const isDown = (hostValues.get('arch_string') ?? '-') === '-';
    for (const [key, text] of hostValues) if (!isDown || key === 'name') hosts.hostValue(key, text);
    hosts.endHost();
  }

  return {
    open(key) {
      const place = places.get(`${around.at(-1) ?? ''}.${key}`) ?? 'other';
      around.push(place);
      open(place);
    },
    close() {
      const place = around.pop();
      if (place === 'host') closeHost();
      else if (place === 'resource') hosts.resource(resource);
    },
    value(key, value) {
      const place = around.at(-1);
      if (place === 'host') hostValues.set(key, value.text());
      else if (place === 'queue') hosts.queueValue(key, value.text());
      else if (place === 'job') hosts.jobValue(key, value.text());
      else if (place === 'resource' && (key === 'name' || key === 'dominance' || key === 'value')) {
        resource = { ...resource, [key]: value.text() };
      }
    },
  };
}

import {
  formatQueueValue,
  parseQueueValue,
  queueValuesFor,
  type QueueOverride,
  type QueueValue,
} from '../../gridengine/queue-value';
import { failure, type Result } from '../../base/result';

/** The new value for a host (null: for hosts that are added later), given the present one. */
export type NewValue = (host: string | null, value: string) => string;

interface Part {
  /** A host or host group; null: the queue's default value. */
  readonly place: string | null;
  readonly value: string;
  /** The queue's hosts that get their value from this part. */
  readonly hosts: readonly string[];
}

const same = (a: string, b: string): boolean => a.toLowerCase() === b.toLowerCase();

function partOf(value: QueueValue, host: string, groups: ReadonlyMap<string, readonly string[]>): string | null {
  const own = value.overrides.find((override) => same(override.host, host));
  if (own !== undefined) return own.host;
  const isIn = (group: string): boolean => (groups.get(group) ?? []).some((member) => same(member, host));
  return value.overrides.find((override) => isIn(override.host))?.host ?? null;
}

interface ChangedPart {
  readonly place: string | null;
  readonly value: string;
  /** Hosts that now need a value of their own. */
  readonly own: readonly QueueOverride[];
}

/** One part of a queue's value after the change: its own new value, and the hosts that now need one of their own. */
function changePart(part: Part, chosen: readonly string[] | null, newValue: NewValue): ChangedPart {
  const { place, hosts } = part;
  const isChosen = (host: string): boolean => chosen === null || chosen.some((name) => same(name, host));
  if (place !== null && !place.startsWith('@'))
    return { place, value: isChosen(place) ? newValue(place, part.value) : part.value, own: [] };
  // A shared value also holds for hosts that are added later, on which nobody has checked for the hooks.
  const value = chosen === null ? newValue(null, part.value) : part.value;
  const own = hosts.filter(isChosen).map((host) => ({ host, value: newValue(host, part.value) }));
  return { place, value, own: own.filter((one) => one.value !== value) };
}

/**
 * A queue's prolog or epilog with new values for the chosen hosts (null: all, also later ones). A default or a group's
 * value changes only if all hosts are meant; chosen hosts get values of their own. Returns qconf's text, or why not.
 */
export function changeQueueValue(
  value: QueueValue,
  queueHosts: readonly string[],
  groups: ReadonlyMap<string, readonly string[]>,
  chosen: readonly string[] | null,
  newValue: NewValue,
): Result<string> {
  const groupsOf = (host: string): string[] =>
    [...groups].filter(([, members]) => members.some((member) => same(member, host))).map(([group]) => group);
  for (const host of queueHosts) {
    const found = queueValuesFor(value, host, groupsOf(host));
    if (found.length > 1) return failure(`host ${host} gets ${found.length} different values from its groups`);
  }
  const hostsOf = (place: string | null): string[] =>
    queueHosts.filter((host) => partOf(value, host, groups) === place);
  const parts: Part[] = [
    ...(value.value === null ? [] : [{ place: null, value: value.value, hosts: hostsOf(null) }]),
    ...value.overrides.map(({ host, value: own }) => ({ place: host, value: own, hosts: hostsOf(host) })),
  ];
  const changed = parts.map((part) => changePart(part, chosen, newValue));
  const kept = changed.map(({ place, value: own }) => ({ place, value: own }));
  // qmaster appends new overrides to those that it has.
  const overrides = [
    ...kept.flatMap(({ place, value: own }) => (place === null ? [] : { host: place, value: own })),
    ...changed.flatMap(({ own }) => own),
  ];
  return formatQueueValue({ value: kept.find(({ place }) => place === null)?.value ?? null, overrides });
}

/** Whether two texts mean the same, as qmaster keeps the overrides in an order of its own. */
export function sameQueueValue(a: string, b: string): boolean {
  const [one, other] = [parseQueueValue(a), parseQueueValue(b)];
  if (!one.ok || !other.ok) return a === b;
  const sorted = ({ value, overrides }: QueueValue): string =>
    JSON.stringify([value, overrides.map(({ host, value: own }) => `${host.toLowerCase()}=${own}`).sort()]);
  return sorted(one.value) === sorted(other.value);
}

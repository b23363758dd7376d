import { reasonOf } from '../../base/user-error';
import type { Settings } from '../../record/settings';
import { chooseSource } from '../../sampler/source-settings';
import {
  isUnavailable,
  unavailable,
  type Metric,
  type Place,
  type ProcessSource,
  type Reading,
  type Source,
  type Unavailable,
} from '../../sources/source';
import { firstOf } from './finding';

/** The places that a source reads, without its options. */
export type SourcePlace = Omit<Place, 'options'>;

/** The result of trying a source once. `opened`: the source could be opened, whatever the reading gave. */
interface Probe {
  readonly opened: boolean;
  readonly answer: readonly Reading[] | Unavailable;
}

/** Opens a source, reads it once and closes it, in this process; `pids`: the processes to read. Never throws. */
export function probeSource(
  source: Source | ProcessSource,
  ground: SourcePlace,
  settings: Settings,
  pids: readonly number[] = [],
): Probe {
  try {
    const open = source.open({ ...ground, options: chooseSource(source, settings).options });
    if (isUnavailable(open)) return { opened: false, answer: open };
    const answer = open.read(pids);
    open.close();
    return { opened: true, answer };
  } catch (error) {
    return { opened: false, answer: unavailable(`it failed: ${reasonOf(error)}`, 'report this as a bug') };
  }
}

const MOST_INSTANCES = 4;
const LONGEST_INSTANCE = 40;

const shortened = (name: string): string =>
  name.length > LONGEST_INSTANCE ? `${name.slice(0, LONGEST_INSTANCE)}...` : name;

/** How many of a source's metrics were read, and of which devices. */
export function describeReadings(metrics: readonly Metric[], readings: readonly Reading[]): string {
  const kinds = new Map(metrics.map(({ name, instance }) => [name, instance]));
  const instances = new Map<string, Set<string>>();
  for (const { metric, instance } of readings) {
    const kind = kinds.get(metric);
    if (kind === undefined || instance === '') continue;
    instances.set(kind, (instances.get(kind) ?? new Set()).add(instance));
  }
  const seen = new Set(readings.map(({ metric }) => metric)).size;
  return [
    `${seen} of ${metrics.length} metrics`,
    ...[...instances].map(([kind, names]) => `per ${kind}: ${firstOf([...names].map(shortened), MOST_INSTANCES)}`),
  ].join('; ');
}

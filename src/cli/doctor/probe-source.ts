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
  type SourceFacts,
  type Unavailable,
} from '../../sources/source';

/** The places that a source reads, without its options. */
export type SourcePlace = Omit<Place, 'options'>;

/** The result of trying a source once. `opened`: the source could be opened, whatever the reading gave. */
export interface Probe {
  readonly opened: boolean;
  readonly answer: readonly Reading[] | Unavailable;
}

interface Opened {
  readonly close: () => void;
}

function probe<T extends Opened>(
  source: SourceFacts & { readonly open: (place: Place) => T | Unavailable },
  ground: SourcePlace,
  settings: Settings,
  read: (open: T) => Probe['answer'],
): Probe {
  try {
    const open = source.open({ ...ground, options: chooseSource(source, settings).options });
    if (isUnavailable(open)) return { opened: false, answer: open };
    const answer = read(open);
    open.close();
    return { opened: true, answer };
  } catch (error) {
    return { opened: false, answer: unavailable(`it failed: ${reasonOf(error)}`, 'report this as a bug') };
  }
}

/** Opens a source, reads it once and closes it, in this process. Never throws. */
export const probeSource = (source: Source, ground: SourcePlace, settings: Settings): Probe =>
  probe(source, ground, settings, (open) => open.read());

/** Like `probeSource`, for a source that reads processes. */
export const probeProcessSource = (
  source: ProcessSource,
  ground: SourcePlace,
  settings: Settings,
  pids: readonly number[],
): Probe => probe(source, ground, settings, (open) => open.read(pids));

const MOST_INSTANCES = 4;
const LONGEST_INSTANCE = 40;

function listed(names: readonly string[]): string {
  const shown = names
    .slice(0, MOST_INSTANCES)
    .map((name) => (name.length > LONGEST_INSTANCE ? `${name.slice(0, LONGEST_INSTANCE)}...` : name));
  const more = names.length - shown.length;
  return `${shown.join(', ')}${more > 0 ? ` and ${more} more` : ''}`;
}

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
    ...[...instances].map(([kind, names]) => `per ${kind}: ${listed([...names])}`),
  ].join('; ');
}

import { shareOf } from '../../record/peak-figure';
import type { HostView } from '../../live/cluster-view';
import type { Order } from './order';

const collator = new Intl.Collator('en', { numeric: true });

/** node9 before node10: the order of equal rows. */
export function byHostName(a: HostView, b: HostView): number {
  return collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
}

/** A text that sorts as the name does for people: numbers in it as numbers. */
const sortableName = (name: string): string =>
  name.replace(/\d+/g, (digits) => `${String(digits.length).padStart(4, '0')}${digits}`);

/** `--sort` of hosts; the first is the default. */
export const HOST_ORDERS: readonly [Order<HostView>, ...Order<HostView>[]] = [
  { key: 'host', largestFirst: false, of: ({ name }) => sortableName(name) },
  { key: 'used', largestFirst: true, of: ({ peak }) => peak },
  { key: 'now', largestFirst: true, of: ({ used }) => used },
  { key: 'requested', largestFirst: true, of: ({ requested }) => requested },
  { key: 'percent', largestFirst: true, of: ({ peak, requested }) => shareOf(peak, requested) },
  { key: 'total', largestFirst: true, of: ({ capacity, memoryTotal }) => capacity ?? memoryTotal },
  { key: 'free', largestFirst: true, of: ({ free }) => free },
  { key: 'slots', largestFirst: true, of: ({ slotsUsed }) => slotsUsed },
  { key: 'load', largestFirst: true, of: ({ load }) => load },
  // Bytes first: any stranded memory is more than all stranded slots as numbers.
  { key: 'stranded', largestFirst: true, of: ({ strandedMemory, strandedSlots }) => strandedMemory || strandedSlots },
];

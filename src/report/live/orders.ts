import type { JobView, PendingView, HostView } from '../../live/cluster-view';
import { shareOf } from '../../record/peak-figure';
import { peakOfJob, presentOfJob, shareOfJob } from './figures';

interface Numbered {
  readonly job: number;
  readonly task?: number | null;
}

/** By job number and task: the order of equal rows. */
export function byNumber(a: Numbered, b: Numbered): number {
  return a.job - b.job || (a.task ?? 0) - (b.task ?? 0);
}

/** `--sort` of running jobs; the first is the default. */
export const JOB_ORDERS: readonly [Order<JobView>, ...Order<JobView>[]] = [
  { key: 'share', largestFirst: true, of: shareOfJob },
  { key: 'risk', largestFirst: false, of: (job) => job.trend?.limitAt ?? null },
  { key: 'peak', largestFirst: true, of: peakOfJob },
  { key: 'used', largestFirst: true, of: presentOfJob },
  { key: 'request', largestFirst: true, of: (job) => job.limit },
  { key: 'slots', largestFirst: true, of: (job) => job.slots },
  { key: 'time', largestFirst: false, of: (job) => job.startedAt },
  { key: 'owner', largestFirst: false, of: (job) => job.owner },
  { key: 'name', largestFirst: false, of: (job) => job.name },
  { key: 'host', largestFirst: false, of: (job) => job.parts[0]?.host ?? null },
  { key: 'job', largestFirst: false, of: (job) => job.job },
];

/** `--sort` of waiting jobs; the first, Grid Engine's own order, is the default. */
export const PENDING_ORDERS: readonly [Order<PendingView>, ...Order<PendingView>[]] = [
  { key: 'priority', largestFirst: true, of: (job) => job.priority },
  { key: 'time', largestFirst: false, of: (job) => job.submittedAt },
  { key: 'slots', largestFirst: true, of: (job) => job.slots },
  { key: 'owner', largestFirst: false, of: (job) => job.owner },
  { key: 'name', largestFirst: false, of: (job) => job.name },
  { key: 'job', largestFirst: false, of: (job) => job.job },
];

const collator = new Intl.Collator('en', { numeric: true });

/** node9 before node10: the order of equal rows. */
export function byHostName(a: HostView, b: HostView): number {
  return collator.compare(a.name, b.name) || (a.name < b.name ? -1 : 1);
}

/** A text that sorts as people sort the name: numbers in it as numbers. */
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

/** An order of rows. Unknown values (null) come last, in either direction. */
export interface Order<T> {
  readonly key: string;
  readonly of: (row: T) => number | string | null;
  /** Whether the largest comes first, unless the order is reversed. */
  readonly largestFirst: boolean;
}

function compare(a: number | string, b: number | string): number {
  if (typeof a === 'number' && typeof b === 'number') return a - b;
  const [x, y] = [String(a), String(b)];
  return x < y ? -1 : x > y ? 1 : 0;
}

/** Sorts rows by an order; equal ones by `ties`. */
export function sortRows<T>(
  rows: readonly T[],
  order: Order<T>,
  reverse: boolean,
  ties: (a: T, b: T) => number,
): readonly T[] {
  const sign = order.largestFirst === reverse ? 1 : -1;
  return rows
    .map((row) => ({ row, value: order.of(row) }))
    .sort((a, b) => {
      if (a.value === null || b.value === null)
        return Number(a.value === null) - Number(b.value === null) || ties(a.row, b.row);
      return sign * compare(a.value, b.value) || ties(a.row, b.row);
    })
    .map(({ row }) => row);
}

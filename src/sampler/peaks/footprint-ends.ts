import { larger } from '../../base/known';
import type { CgroupReading } from '../../sources/job/cgroup-reading';
import { isExact } from '../../record/peak-figure';
import type { Bracket, BracketSource, OpenReason } from '../../record/record';

/**
 * Footprint of a job (anonymous memory, shared memory and swap, each page once) from its control group: memory that was
 * charged to it. Pages that someone else touched first, and huge pages of hugetlbfs, are not included.
 *
 * Lower bound: the largest sum in a sample. Upper bound: the kernel's own peak, which counts page cache and kernel
 * memory, too. So the two meet only for a job that reads and writes little.
 */
interface FootprintState {
  /** The largest sampled sum, in bytes; null: none yet. */
  readonly heldBytes: number | null;
  /** When it was seen (ms since the epoch). */
  readonly at: number | null;
  /** Largest values seen of the peaks that the kernel keeps. */
  readonly peakBytes: number | null;
  readonly swapPeakBytes: number | null;
  readonly memorySwapPeakBytes: number | null;
  /** The largest limits seen; null: at some reading there was no limit. */
  readonly memoryLimitBytes: number | null;
  readonly swapLimitBytes: number | null;
  readonly readings: number;
}

export const NO_FOOTPRINT: FootprintState = {
  heldBytes: null,
  at: null,
  peakBytes: null,
  swapPeakBytes: null,
  memorySwapPeakBytes: null,
  memoryLimitBytes: null,
  swapLimitBytes: null,
  readings: 0,
};

/**
 * Anonymous, shared and swapped memory of one reading; null when it lacks these figures. A page in the swap cache is in
 * memory and in swap: if the kernel gives no number of such pages (before 5.12), the largest possible is subtracted.
 */
export function heldBytes(reading: CgroupReading): number | null {
  if (reading.anonBytes === null) return null;
  // Without a figure of shared memory (v1 before 4.12) the sum is smaller, but still a lower bound.
  const inMemory = reading.anonBytes + (reading.shmemBytes ?? 0);
  const swapped = reading.swapBytes ?? 0;
  return inMemory + swapped - Math.min(reading.swapCachedBytes ?? Infinity, inMemory, swapped);
}

const loosest = (a: number | null, b: number | null): number | null =>
  a === null || b === null ? null : Math.max(a, b);

/** Takes one reading (`at`: ms since the epoch). */
export function observeFootprint(state: FootprintState, reading: CgroupReading, at: number): FootprintState {
  const held = heldBytes(reading);
  const rises = held !== null && (state.heldBytes === null || held > state.heldBytes);
  return {
    heldBytes: rises ? held : state.heldBytes,
    at: rises ? at : state.at,
    peakBytes: larger(state.peakBytes, reading.peakBytes),
    swapPeakBytes: larger(state.swapPeakBytes, reading.swapPeakBytes),
    memorySwapPeakBytes: larger(state.memorySwapPeakBytes, reading.memorySwapPeakBytes),
    memoryLimitBytes:
      state.readings === 0 ? reading.memoryLimitBytes : loosest(state.memoryLimitBytes, reading.memoryLimitBytes),
    swapLimitBytes:
      state.readings === 0 ? reading.swapLimitBytes : loosest(state.swapLimitBytes, reading.swapLimitBytes),
    readings: state.readings + 1,
  };
}

export interface FootprintCircumstances {
  readonly version: 1 | 2;
  /** SwapTotal of /proc/meminfo, in bytes; null: not known. */
  readonly nodeSwapBytes: number | null;
  /** From `groupSlackBytes`. */
  readonly slackBytes: number;
  /** Memory of processes in the group that are not the job's: the shepherd in a group of our own. */
  readonly othersBytes: number;
  /** The last reading was taken after the job's last process had ended. */
  readonly toEnd: boolean;
  /** OpenCgroup.coversSubgroups. */
  readonly coversSubgroups: boolean;
}

export interface FootprintEnds extends Pick<
  Bracket,
  'lower_bytes' | 'upper_bytes' | 'slack_bytes' | 'proved' | 'exact' | 'open' | 'sources'
> {
  /** When the lower bound was seen (ms since the epoch). */
  readonly at: number | null;
}

/** MEMCG_CHARGE_BATCH (include/linux/memcontrol.h): pages that each CPU may have counted for itself. */
const BATCH_PAGES = 64;

/**
 * Largest error of memory.stat and of the peak, in bytes. Statistics wait on each CPU until a batch is full, and one
 * more batch per CPU may wait in between (mm/memcontrol.c, memcg_rstat_updated). The peak is noted without a lock
 * (mm/page_counter.c): of two charges at the same time the smaller may be the one noted, a batch less.
 */
export function groupSlackBytes(machine: { readonly pageSize: number; readonly cpus: number }): number {
  return 2 * BATCH_PAGES * machine.pageSize * machine.cpus;
}

/**
 * Both bounds of the footprint; null when nothing was read of the group's memory. Every process of the job was in the
 * group from its first moment on: those in a scope were started in it, and the shepherd enters a group of our own
 * before it starts the job.
 */
export function footprintEnds(state: FootprintState, circumstances: FootprintCircumstances): FootprintEnds | null {
  const top = upperEnd(state, circumstances);
  if (state.heldBytes === null && top.bytes === null) return null;
  const open = new Set<OpenReason>(top.open);
  if (!circumstances.toEnd) open.add('end-gap');
  if (state.heldBytes === null) open.add('no-samples');
  const lowerSlack = Math.min(state.heldBytes ?? 0, circumstances.slackBytes + circumstances.othersBytes);
  const lower = (state.heldBytes ?? 0) - lowerSlack;
  const closed = circumstances.toEnd ? top.bytes : null;
  const upper = closed === null ? null : Math.max(lower, closed + circumstances.slackBytes);
  const proved = upper !== null && top.certain;
  const sources: readonly BracketSource[] = top.limited ? ['cgroup', 'limit'] : ['cgroup'];
  return {
    lower_bytes: lower,
    upper_bytes: upper,
    slack_bytes: Math.max(lowerSlack, upper === null ? 0 : circumstances.slackBytes),
    proved,
    exact: isExact(proved, lower, upper),
    open: [...open].sort(),
    sources,
    at: state.at,
  };
}

interface Top {
  readonly bytes: number | null;
  readonly open: readonly OpenReason[];
  /** A limit stands in for a mark that the kernel does not keep. */
  readonly limited: boolean;
  /** The kernel guarantees that this was never exceeded. */
  readonly certain: boolean;
}

const openTop = (...open: readonly OpenReason[]): Top => ({ bytes: null, open, limited: false, certain: false });
const closedTop = (bytes: number, limited = false, certain = true): Top => ({ bytes, open: [], limited, certain });

/** The most that memory and swap can have held together. */
function upperEnd(state: FootprintState, { version, nodeSwapBytes, coversSubgroups }: FootprintCircumstances): Top {
  if (!coversSubgroups) return openTop('no-page-accounting');
  if (version === 1 && state.memorySwapPeakBytes !== null) return closedTop(state.memorySwapPeakBytes);
  const swap = swapEnd(state, nodeSwapBytes);
  if (swap.bytes === null) return swap;
  if (state.peakBytes !== null) return closedTop(state.peakBytes + swap.bytes, swap.limited);
  // Before Linux 5.19 there is no memory.peak. Charges that must not fail can exceed the limit.
  if (state.memoryLimitBytes !== null) return closedTop(state.memoryLimitBytes + swap.bytes, true, false);
  return openTop('no-page-accounting');
}

/** memory.swap.peak came with Linux 6.5; before, swap is bounded only if the node has none or the group has a limit. */
function swapEnd(state: FootprintState, nodeSwapBytes: number | null): Top {
  if (state.swapPeakBytes !== null) return closedTop(state.swapPeakBytes);
  if (nodeSwapBytes === 0) return closedTop(0);
  return state.swapLimitBytes === null ? openTop('swap') : closedTop(state.swapLimitBytes, true);
}

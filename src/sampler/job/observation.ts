import { boolean, integer, nullable, number, object, type ValueOf } from '../../base/shape';
import type { UnknownBounds, UpperResult } from '../peaks/cap-sums';
import { newPeaks, type PeakState } from '../peaks/peaks';
import type { ClaimCounts } from '../processes/job-processes';
import type { LineageTotals } from '../processes/lineage';
import { NO_SUMS, type Sums } from '../processes/totals';
import { newSeries, type Series } from '../series/series';

/** Figures over all samples of a job; times in ms. */
export const SAMPLING = object({
  startMs: nullable(number()),
  firstSampleMs: nullable(number()),
  lastSampleMs: nullable(number()),
  samples: integer(0),
  longestGapMs: number(0),
  rssByteMs: number(0),
  suspendedMs: number(0),
  /** Of some process nothing tells the I/O: it could not be read, and no process of the job waited for it. */
  ioLost: boolean,
  maxProcesses: integer(0),
  maxThreads: integer(0),
});
export type Sampling = ValueOf<typeof SAMPLING>;

/** All that was found out about a job so far. Memory in bytes, CPU in clock ticks. */
export interface Observation extends Sampling {
  readonly peaks: PeakState;
  readonly series: Series;
  readonly sums: Sums;
  readonly counts: ClaimCounts;
  /** null: the kernel's events were never heard. */
  readonly lineage: LineageSeen | null;
}

/** What the kernel's events say about a job. */
export interface LineageSeen {
  readonly totals: LineageTotals;
  readonly upper: (bounds: UnknownBounds) => UpperResult;
  /** See UpperEnds. */
  readonly replacerFaults: number | null;
  /** Processes that were alive at the last sweep. */
  readonly living: number;
}

export const NO_SAMPLING: Sampling = {
  startMs: null,
  firstSampleMs: null,
  lastSampleMs: null,
  samples: 0,
  longestGapMs: 0,
  rssByteMs: 0,
  suspendedMs: 0,
  ioLost: false,
  maxProcesses: 0,
  maxThreads: 0,
};

/** What is known of a job that was never looked at. */
export const nothingObserved = (): Observation => ({
  ...NO_SAMPLING,
  peaks: newPeaks(),
  series: newSeries(0),
  sums: NO_SUMS,
  counts: { seen: 0, treeOnly: 0, groupOnly: 0 },
  lineage: null,
});

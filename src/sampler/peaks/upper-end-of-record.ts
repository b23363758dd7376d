import type { RecordParts } from '../job/job-record';
import type { LineageSeen, Observation } from '../job/observation';
import { eachQuantity, openWithoutEvents, type Quantity, type PeakState, type UpperEnd } from './peaks';
import type { OpenReason } from '../../record/record';
import { markSlackBytes } from './slack';
import type { UnknownBounds } from './cap-sums';

type Circumstances = Pick<RecordParts, 'usage' | 'precision' | 'addressSpaceLimit' | 'noSwap' | 'status'>;

/** Reasons that open a bound whatever the kernel's events say: the sampler's gaps, and marks that fell. */
const ALWAYS: readonly OpenReason[] = ['fallen-mark', 'sampler-lost'];

/**
 * `ru_maxrss` of the job's first process is the largest mark of its own programs and of all processes that were waited
 * for, including programs that an exec replaced. The kernel doesn't say which processes were waited for; but it adds
 * their page faults to `ru_minflt` at the same moment: a process was waited for if `ru_minflt` is more than the faults
 * of all other processes. After a thread's exit record the kernel may still touch its memory (robust futexes): two
 * faults per thread allow for that. It hardly ever does: if the two sums agree exactly, nothing is missing in either.
 */
const FAULTS_AFTER_RECORD = 2;

function coversReplacers(lineage: LineageSeen, minorFaults: number | undefined): boolean {
  const { totals, replacerFaults, living } = lineage;
  if (minorFaults === undefined || replacerFaults === null || !totals.whole || living > 0) return false;
  const { minorFaults: all, threadExits } = totals.sums;
  return minorFaults === all || minorFaults > all - replacerFaults + FAULTS_AFTER_RECORD * threadExits;
}

function boundsOf(parts: Circumstances, { maxThreads }: Observation, lineage: LineageSeen): UnknownBounds {
  const { usage, precision, addressSpaceLimit } = parts;
  const maxrss = usage?.maxrssBytes ?? null;
  const rootRss =
    maxrss === null ? Infinity : maxrss + markSlackBytes(precision, Math.max(maxThreads, lineage.totals.sums.threads));
  return {
    addressSpace: addressSpaceLimit,
    rootRss,
    othersRss: coversReplacers(lineage, usage?.rusage.ru_minflt) ? rootRss : Infinity,
  };
}

/** A copy that took memory and then executed a program counts in no upper bound, and left its mark in `ru_maxrss` alone. */
function isBeyond({ best: { rss } }: PeakState, { bytes }: UpperEnd): boolean {
  return rss?.source === 'usage' && rss.certain - rss.slack > (bytes ?? Infinity);
}

/** The upper bounds of all quantities, as far as the kernel's events prove them. */
export function upperEnds(parts: Circumstances, observation: Observation): Readonly<Record<Quantity, UpperEnd>> {
  const { peaks, lineage } = observation;
  if (lineage === null) return eachQuantity((quantity) => openWithoutEvents(peaks, quantity));
  const bounds = boundsOf(parts, observation, lineage);
  const upper = lineage.upper(bounds);
  const always = ALWAYS.filter((reason) => peaks.reasons.has(reason));
  if (isBeyond(peaks, upper.rss)) always.push('exec');
  const end = ({ bytes, open, sources }: UpperEnd, ...more: readonly OpenReason[]): UpperEnd => {
    const reasons = [...new Set([...open, ...always, ...more])].sort();
    return { bytes: reasons.length > 0 ? null : bytes, open: reasons, sources };
  };
  const rss = end(upper.rss);
  // If nothing can have been swapped out, all memory was resident, and each page of it counts in the RSS.
  const withSwap = parts.noSwap ? rss : end(upper.rss, 'swap');
  return {
    rss,
    rssSwap: withSwap,
    vmem: end(upper.vmem),
    processVmem: end(upper.processVmem),
    footprint: withSwap,
  };
}

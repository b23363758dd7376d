import type { RecordParts } from '../job/job-record';
import type { LineageSeen, Observation } from '../job/job-sampler';
import { eachQuantity, openWithoutEvents, type Quantity, type UpperEnd } from './peaks';
import type { OpenReason } from '../../record/record';
import { markSlackBytes } from './slack';
import type { UnknownBounds } from './cap-sums';

type Circumstances = Pick<RecordParts, 'usage' | 'precision' | 'addressSpaceLimit' | 'noSwap' | 'status'>;

/** What opens an end whatever the kernel's events say: the sampler's own gaps, and marks that were reset (clear_refs). */
const ALWAYS: readonly OpenReason[] = ['fallen-mark', 'sampler-lost'];

/**
 * `ru_maxrss` of the job's first process is the largest mark of its own programs and of all that were waited for, those
 * that an exec replaced among them. The kernel doesn't say whether a certain process was waited for; but its page faults are added
 * to `ru_minflt` in the same moment: where that is more than all faults but this process's can explain, it was. After a
 * thread's exit record the kernel may still touch its memory (robust futexes); that is allowed for with two faults each.
 * It hardly ever does: two sums that agree to the last fault are taken to have nothing missing in either.
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

/** The upper ends of all quantities, as far as the kernel's events prove them. */
export function upperEnds(parts: Circumstances, observation: Observation): Readonly<Record<Quantity, UpperEnd>> {
  const { peaks, lineage } = observation;
  if (lineage === null) return eachQuantity((quantity) => openWithoutEvents(peaks, quantity));
  const bounds = boundsOf(parts, observation, lineage);
  const upper = lineage.upper(bounds);
  const always = ALWAYS.filter((reason) => peaks.reasons.has(reason));
  const end = ({ bytes, open, sources }: UpperEnd, ...more: readonly OpenReason[]): UpperEnd => {
    const reasons = [...new Set([...open, ...always, ...more])].sort();
    return { bytes: reasons.length > 0 ? null : bytes, open: reasons, sources };
  };
  const rss = end(upper.rss);
  // Nothing can have been swapped out: then what was resident is all there was, and each page of it counts in the RSS.
  const withSwap = parts.noSwap ? rss : end(upper.rss, 'swap');
  return {
    rss,
    rssSwap: withSwap,
    vmem: end(upper.vmem),
    processVmem: end(upper.processVmem),
    footprint: withSwap,
  };
}

import { MIB } from '../base/units';
import type { Bracket } from './record';

/**
 * How a peak becomes one number: the same on every screen, in every list, report, sum and file.
 *
 * - The lower end (`figureOf`) is shown, compared with limits, sorted, filtered and summed: that much was held for
 *   certain. It is known for all sampled jobs alike, whatever could be proved of the upper end.
 * - Whether a request is enough is judged by the upper end if it was measured (`judgedEnd`). An upper end that is only
 *   a limit says what the job was allowed, not what it held.
 * - A peak on one host is compared with the limit on that host, a sum over hosts with the sum of their limits.
 */
export type Ends = Pick<Bracket, 'lower_bytes' | 'upper_bytes' | 'sources'>;

/** A peak as one number, in bytes: what was held for certain. */
export function figureOf(bracket: Pick<Bracket, 'lower_bytes'>): number {
  return bracket.lower_bytes;
}

/** The upper end in bytes where it was measured; null: it is open, or no more than a limit. */
export function measuredUpper({ upper_bytes: upper, sources }: Ends): number | null {
  return sources.includes('limit') ? null : upper;
}

/** The end by which a job's need of memory is judged, in bytes. */
export function judgedEnd(bracket: Ends): number {
  return measuredUpper(bracket) ?? bracket.lower_bytes;
}

/** Proved ends this close to each other are shown as one figure. */
const EXACT_BYTES = MIB;
const EXACT_SHARE = 0.01;

/** Whether a bracket's ends (bytes) count as one figure; `upper` null: open. */
export function isExact(proved: boolean, lower: number, upper: number | null): boolean {
  return proved && upper !== null && upper - lower <= Math.max(EXACT_BYTES, EXACT_SHARE * upper);
}

/** Bytes over the limit, 0 to 1 or more; null: one of them is not known, or there is no limit. */
export function shareOf(bytes: number | null, limit: number | null): number | null {
  return bytes === null || limit === null || limit <= 0 ? null : bytes / limit;
}

/** A peak's share of the limit on the same host; null: one of them is not known. */
export function shareOfLimit(bracket: Pick<Bracket, 'lower_bytes'> | null, limit: number | null): number | null {
  return shareOf(bracket && figureOf(bracket), limit);
}

import { MIB } from '../base/units';
import type { Bracket } from './record';

/**
 * How a peak becomes one number: the same on every screen, in every list, report, sum and file.
 *
 * - Shown, compared with a limit, sorted, filtered and summed by is the lower end (`figureOf`): so much was held for
 *   certain. It is known of every job alike, whatever could be proved of its upper end.
 * - A request must not be below the end judged by (`judgedEnd`): the upper end where it was measured. An upper end that
 *   is only a limit says what the job was allowed, not what it held.
 * - What was held on a host compares with the limit on that host, a sum over hosts with the sum of their limits.
 */
export type Ends = Pick<Bracket, 'lower_bytes' | 'upper_bytes' | 'sources'>;

/** A peak in one number, in bytes: held for certain. */
export function figureOf(bracket: Pick<Bracket, 'lower_bytes'>): number {
  return bracket.lower_bytes;
}

/** The upper end in bytes where it was measured; null: it is open, or no more than a limit. */
export function measuredUpper({ upper_bytes: upper, sources }: Ends): number | null {
  return sources.includes('limit') ? null : upper;
}

/** The end that a need is judged by, in bytes. */
export function judgedEnd(bracket: Ends): number {
  return measuredUpper(bracket) ?? bracket.lower_bytes;
}

/** Proved ends this near each other are one figure. */
const EXACT_BYTES = MIB;
const EXACT_SHARE = 0.01;

/** Whether a bracket's ends are one figure, in bytes; `upper` null: open. */
export function isExact(proved: boolean, lower: number, upper: number | null): boolean {
  return proved && upper !== null && upper - lower <= Math.max(EXACT_BYTES, EXACT_SHARE * upper);
}

/** Of a whole, 0 to 1 or more; null: one of them is not known, or there is no limit. */
export function shareOf(bytes: number | null, limit: number | null): number | null {
  return bytes === null || limit === null || limit <= 0 ? null : bytes / limit;
}

/** A peak's share of the limit on the same host; null: one of them is not known. */
export function shareOfLimit(bracket: Pick<Bracket, 'lower_bytes'> | null, limit: number | null): number | null {
  return shareOf(bracket && figureOf(bracket), limit);
}

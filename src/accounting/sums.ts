import { COVERAGE_REASONS } from './coverage';
import type { Facts } from './facts';
import type { Totals } from './store';

export type MutableTotals = { -readonly [Name in keyof Totals]: number };

/** Sums over the records of one UTC day. */
export interface Sums {
  readonly totals: MutableTotals;
  /** By the UTC hour of the day: requested GiB h, used GiB h, slot hours; 24 of each. */
  readonly hours: Float64Array;
  /** Ended records by peak over limit, in steps of 5 %; the last: at the limit or above. */
  readonly shares: Float64Array;
  /** Ended records, in the order of COVERAGE_REASONS. */
  readonly coverage: Float64Array;
}

export const SHARE_STEPS = 20;
export const DEFAULT_FAR_BELOW = 0.25;

const HOUR = 3_600_000;
const GIB = 2 ** 30;
/** Bytes x ms in a GiB x h. */
const GIB_HOUR = GIB * HOUR;

export const TOTALS_NAMES = [
  'records',
  'jobs',
  'running',
  'requested_gib_hours',
  'requested_with_used_gib_hours',
  'requested_with_peak_gib_hours',
  'used_gib_hours',
  'peak_gib_hours',
  'cpu_seconds',
  'slot_seconds',
  'above_request',
  'far_below',
  'limit_gib_hours',
  'energy_joules',
  'slot_seconds_with_energy',
  'failed',
  'killed_by_memory',
  'unsampled',
  'without_limit',
  'without_peak',
  'without_used',
] as const satisfies readonly (keyof Totals)[];

export function noTotals(): MutableTotals {
  return Object.fromEntries(TOTALS_NAMES.map((name) => [name, 0])) as MutableTotals;
}

export function newSums(): Sums {
  return {
    totals: noTotals(),
    hours: new Float64Array(3 * 24),
    shares: new Float64Array(SHARE_STEPS + 1),
    coverage: new Float64Array(COVERAGE_REASONS.length),
  };
}

export function addTotals(to: MutableTotals, from: Totals): void {
  for (const name of TOTALS_NAMES) to[name] += from[name];
}

/** Peak over limit in twentieths; null: one of them is not known. The same arithmetic wherever two shares are compared. */
export function shareInSteps(peak: number | null, limit: number | null): number | null {
  return peak === null || limit === null || limit <= 0 ? null : (peak * SHARE_STEPS) / limit;
}

/** The share from which a peak is no longer far below, in twentieths: whole where it is meant to be. */
export function stepsOf(share: number): number {
  const steps = share * SHARE_STEPS;
  return Math.abs(steps - Math.round(steps)) < 1e-9 ? Math.round(steps) : steps;
}

/** Adds an amount of each kind, spread evenly over a time that ended then and lasted `lengthMs`, to the hours. */
function addHours(
  hours: Float64Array,
  end: number,
  lengthMs: number,
  amounts: readonly [number, number, number],
): void {
  const put = (hour: number, ms: number): void => {
    for (const [kind, amount] of amounts.entries()) {
      const index = kind * 24 + hour;
      hours[index] = (hours[index] ?? 0) + (amount * ms) / lengthMs;
    }
  };
  const wholeDays = Math.floor(lengthMs / (24 * HOUR));
  if (wholeDays > 0) for (let hour = 0; hour < 24; hour++) put(hour, wholeDays * HOUR);
  let left = lengthMs - wholeDays * 24 * HOUR;
  let at = end;
  while (left > 0) {
    const hour = Math.ceil(at / HOUR) - 1;
    const part = Math.min(left, at - hour * HOUR);
    if (!(part > 0)) return;
    put(((hour % 24) + 24) % 24, part);
    at -= part;
    left -= part;
  }
}

/** What a record adds to the sums of its day, apart from `jobs`. `counted`: where it counts in time (ms). */
export function addFacts(sums: Sums, facts: Facts, counted: number, farBelowSteps: number): void {
  const { totals } = sums;
  const { limit, peak, used } = facts;
  const wallclock = facts.wallclock ?? 0;
  const requested = facts.standsForHost ? ((facts.requested ?? 0) * wallclock) / GIB_HOUR : 0;
  const slotMs = facts.standsForHost ? wallclock * facts.slots : 0;
  const usedHours = ((used ?? 0) * 1000) / GIB_HOUR;
  totals.records++;
  totals.requested_gib_hours += requested;
  if (facts.standsForHost) totals.limit_gib_hours += ((limit ?? 0) * wallclock) / GIB_HOUR;
  if (used === null) totals.without_used++;
  else {
    totals.requested_with_used_gib_hours += requested;
    totals.used_gib_hours += usedHours;
  }
  if (peak === null) totals.without_peak++;
  else {
    totals.requested_with_peak_gib_hours += requested;
    totals.peak_gib_hours += (peak * wallclock) / GIB_HOUR;
  }
  totals.cpu_seconds += (facts.cpu ?? 0) / 1000;
  totals.slot_seconds += slotMs / 1000;
  if (facts.energy !== null) {
    totals.energy_joules += facts.energy;
    totals.slot_seconds_with_energy += slotMs / 1000;
  }
  if (limit === null) totals.without_limit++;
  else if (peak !== null && peak > limit) totals.above_request++;
  if (facts.failed) totals.failed++;
  if (facts.killed) totals.killed_by_memory++;
  const steps = shareInSteps(peak, limit);
  if (facts.running) totals.running++;
  else {
    if (!facts.sampled) totals.unsampled++;
    const reason = COVERAGE_REASONS.indexOf(facts.reason);
    sums.coverage[reason] = (sums.coverage[reason] ?? 0) + 1;
    if (steps !== null) {
      const step = Math.min(SHARE_STEPS, Math.floor(steps));
      sums.shares[step] = (sums.shares[step] ?? 0) + 1;
      if (steps < farBelowSteps) totals.far_below++;
    }
  }
  if (wallclock > 0) addHours(sums.hours, counted, wallclock, [requested, usedHours, slotMs / HOUR]);
}

/** What `hours` say in a time zone that is ahead of UTC by so many minutes. */
export function addShiftedHours(to: Float64Array, hours: Float64Array, offsetMinutes: number): void {
  const whole = Math.floor(offsetMinutes / 60);
  const later = (offsetMinutes - whole * 60) / 60;
  for (let index = 0; index < hours.length; index++) {
    const amount = hours[index] ?? 0;
    if (amount === 0) continue;
    const base = index - (index % 24);
    const hour = ((((index % 24) + whole) % 24) + 24) % 24;
    const next = (hour + 1) % 24;
    to[base + hour] = (to[base + hour] ?? 0) + amount * (1 - later);
    if (later > 0) to[base + next] = (to[base + next] ?? 0) + amount * later;
  }
}

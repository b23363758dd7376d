import { GIB, HOUR_MS } from '../base/units';
import { COVERAGE_REASONS } from './coverage';
import type { Facts } from './facts';
import { noTotals, type MutableTotals } from './totals';

/** Counts and amounts over the records of a UTC day, or of several. */
export interface Sums extends Bins {
  readonly totals: MutableTotals;
}

export interface Bins {
  /** By the UTC hour of the day: requested GiB h, used GiB h, slot hours; 24 of each. */
  readonly hours: Float64Array;
  /** Ended records by peak over limit, in steps of 5 %; the last: at the limit or above. */
  readonly shares: Float64Array;
  /** Ended records, in the order of COVERAGE_REASONS. */
  readonly coverage: Float64Array;
}

export const SHARE_STEPS = 20;

/** Below this share of the limit a request is called far too large. */
export const FAR_BELOW_LIMIT = 0.25;
const FAR_BELOW_STEPS = FAR_BELOW_LIMIT * SHARE_STEPS;

/** Bytes x ms in a GiB x h. */
const GIB_HOUR = GIB * HOUR_MS;

export function newBins(): Bins {
  return {
    hours: new Float64Array(3 * 24),
    shares: new Float64Array(SHARE_STEPS + 1),
    coverage: new Float64Array(COVERAGE_REASONS.length),
  };
}

export function newSums(): Sums {
  return { totals: noTotals(), ...newBins() };
}

/** Peak over limit in steps of 5 %; null: one of them is not known. All comparisons of shares use this arithmetic. */
export function shareInSteps(peak: number | null, limit: number | null): number | null {
  return peak === null || limit === null || limit <= 0 ? null : (peak * SHARE_STEPS) / limit;
}

/** The UTC hours of the day over which a span spreads, each with its share: hour, share, hour, share ... */
function hoursOf(end: number, lengthMs: number): readonly number[] {
  const shares: number[] = [];
  const wholeDays = Math.floor(lengthMs / (24 * HOUR_MS));
  if (wholeDays > 0) for (let hour = 0; hour < 24; hour++) shares.push(hour, (wholeDays * HOUR_MS) / lengthMs);
  let left = lengthMs - wholeDays * 24 * HOUR_MS;
  let at = end;
  while (left > 0) {
    const hour = Math.ceil(at / HOUR_MS) - 1;
    const part = Math.min(left, at - hour * HOUR_MS);
    if (!(part > 0)) break;
    shares.push(((hour % 24) + 24) % 24, part / lengthMs);
    at -= part;
    left -= part;
  }
  return shares;
}

type Contribution = Readonly<ReturnType<typeof contributionOf>>;

/** What a record adds to any sums that it belongs to. `counted`: the moment (ms) at which it counts (`countedAt`). */
export function contributionOf(facts: Facts, counted: number) {
  const wallclock = facts.wallclock ?? 0;
  const standing = facts.standsForHost ? wallclock : 0;
  // Whether what was held can be compared with a request: its own, or that of the record that stands for its host.
  const comparable = facts.requested !== null || facts.limit !== null || !facts.standsForHost;
  const requested = ((facts.requested ?? 0) * standing) / GIB_HOUR;
  const peak = ((facts.peak ?? 0) * wallclock) / GIB_HOUR;
  const gridEngine = ((facts.gridEngine ?? 0) * wallclock) / GIB_HOUR;
  const unusedOf = (held: number | null, amount: number): number =>
    held === null || !comparable ? 0 : Math.max(facts.alone ? 0 : -Infinity, requested - amount);
  return {
    facts,
    comparable,
    requested,
    limit: ((facts.limit ?? 0) * standing) / GIB_HOUR,
    used: ((facts.used ?? 0) * 1000) / GIB_HOUR,
    peak,
    gridEngine,
    unused: unusedOf(facts.peak, peak),
    unusedByGridEngine: unusedOf(facts.gridEngine, gridEngine),
    slotMs: facts.standsForHost ? facts.slotMs : 0,
    steps: shareInSteps(facts.peak, facts.limit),
    reason: COVERAGE_REASONS.indexOf(facts.reason),
    hours: wallclock > 0 ? hoursOf(counted, wallclock) : [],
  };
}

/** Adds a record to all totals but `jobs`. */
export function addToTotals(totals: MutableTotals, added: Contribution): void {
  const { facts, comparable, requested, slotMs, steps } = added;
  totals.records++;
  totals.requested_gib_hours += requested;
  totals.limit_gib_hours += added.limit;
  if (facts.used === null) totals.without_used++;
  else {
    totals.requested_with_used_gib_hours += requested;
    totals.used_gib_hours += added.used;
    if (comparable) totals.used_with_request_gib_hours += added.used;
  }
  if (facts.peak === null) totals.without_peak++;
  else {
    totals.requested_with_peak_gib_hours += requested;
    totals.peak_gib_hours += added.peak;
    totals.unused_gib_hours += added.unused;
    if (comparable) totals.peak_with_request_gib_hours += added.peak;
  }
  if (facts.gridEngine !== null) {
    totals.with_grid_engine++;
    totals.requested_with_grid_engine_gib_hours += requested;
    totals.grid_engine_gib_hours += added.gridEngine;
    totals.unused_by_grid_engine_gib_hours += added.unusedByGridEngine;
    if (comparable) totals.grid_engine_with_request_gib_hours += added.gridEngine;
  }
  totals.cpu_seconds += (facts.cpu ?? 0) / 1000;
  totals.slot_seconds += slotMs / 1000;
  if (facts.energy !== null) {
    totals.energy_joules += facts.energy;
    totals.slot_seconds_with_energy += slotMs / 1000;
  }
  if (facts.limit === null) totals.without_limit++;
  else if (facts.peak !== null && facts.peak > facts.limit) totals.above_request++;
  if (facts.failed) {
    totals.failed++;
    totals.failed_slot_seconds += slotMs / 1000;
  }
  if (facts.killed) totals.killed_by_memory++;
  if (facts.running) totals.running++;
  else {
    if (!facts.sampled) totals.unsampled++;
    if (steps !== null && steps < FAR_BELOW_STEPS) totals.far_below++;
  }
}

/** Adds a record to the bins of its day. */
export function addToBins({ hours, shares, coverage }: Bins, added: Contribution): void {
  const { requested, steps, reason } = added;
  if (!added.facts.running) {
    coverage[reason] = (coverage[reason] ?? 0) + 1;
    const step = steps === null ? null : Math.min(SHARE_STEPS, Math.floor(steps));
    if (step !== null) shares[step] = (shares[step] ?? 0) + 1;
  }
  const slotHours = added.slotMs / HOUR_MS;
  for (let index = 0; index < added.hours.length; index += 2) {
    const hour = added.hours[index] ?? 0;
    const share = added.hours[index + 1] ?? 0;
    hours[hour] = (hours[hour] ?? 0) + requested * share;
    hours[24 + hour] = (hours[24 + hour] ?? 0) + added.used * share;
    hours[48 + hour] = (hours[48 + hour] ?? 0) + slotHours * share;
  }
}

/** Adds a record that belongs to one sum only. */
export function addFacts(sums: Sums, facts: Facts, counted: number): void {
  const added = contributionOf(facts, counted);
  addToTotals(sums.totals, added);
  addToBins(sums, added);
}

/** Adds `hours` to `to`, shifted to a time zone that in each UTC hour is `offsetOf` minutes ahead of UTC. */
export function addShiftedHours(to: Float64Array, hours: Float64Array, offsetOf: (hour: number) => number): void {
  for (let index = 0; index < hours.length; index++) {
    const amount = hours[index] ?? 0;
    if (amount === 0) continue;
    const offset = offsetOf(index % 24);
    const whole = Math.floor(offset / 60);
    const later = (offset - whole * 60) / 60;
    const base = index - (index % 24);
    const hour = ((((index % 24) + whole) % 24) + 24) % 24;
    const next = (hour + 1) % 24;
    to[base + hour] = (to[base + hour] ?? 0) + amount * (1 - later);
    if (later > 0) to[base + next] = (to[base + next] ?? 0) + amount * later;
  }
}

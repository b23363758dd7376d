import type { PerfCount } from '../../native/perf-event';

/** The state of a counter after its last reading. */
export interface Scaled extends PerfCount {
  /** The count as if the counter had run all the time that it was enabled. */
  readonly value: number;
  /** Enabled time since the counter last ran: not yet scaled for. */
  readonly waitedNs: number;
}

export const NOTHING_COUNTED: Scaled = { raw: 0, enabledNs: 0, runningNs: 0, value: 0, waitedNs: 0 };

const WRAP = 2 ** 64;

/** By how much a 64-bit counter has grown; it may have wrapped: 256 CPUs take half a year for that. */
const grown = (before: number, now: number): number =>
  before > WRAP / 2 && now < WRAP / 4 ? now + WRAP - before : now - before;

/**
 * Adds what was counted since the last reading, scaled by the share of that time in which the counter ran: the share
 * changes as other programs take counters, and the total must not shrink when it does. Time in which the counter never
 * ran is made up for the next time that it runs. Readings that go back are left out.
 */
export function advance(before: Scaled, count: PerfCount | null): Scaled {
  if (count === null) return before;
  const raw = grown(before.raw, count.raw);
  const enabled = count.enabledNs - before.enabledNs;
  const running = count.runningNs - before.runningNs;
  if (!(raw >= 0 && enabled >= 0 && running >= 0)) return before;
  const waited = before.waitedNs + enabled;
  if (running === 0) return { ...count, value: before.value + raw, waitedNs: waited };
  return { ...count, value: before.value + raw * Math.max(1, waited / running), waitedNs: 0 };
}

/** The counters of one event on cores of several kinds, of which only one can run at a time; null: one is missing. */
export function combine(counts: readonly (PerfCount | null)[]): PerfCount | null {
  const known = counts.filter((count) => count !== null);
  if (known.length < counts.length || known.length === 0) return null;
  return known.reduce((all, count) => ({
    raw: all.raw + count.raw,
    runningNs: all.runningNs + count.runningNs,
    enabledNs: Math.max(all.enabledNs, count.enabledNs),
  }));
}

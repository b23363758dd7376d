/** Keeps a sampler to its share of a core: what a tick costs says how far it is to the next one. */
export interface Stretch {
  /** `cpuMs`: CPU time of this process so far. The interval from now on, in ms. */
  afterTick(cpuMs: number): number;
}

const LONGEST_MS = 60_000;
/** Of the last cost against those before: a single dear tick (code that is loaded) changes little. */
const WEIGHT = 0.4;
/** Start-up and the first, cold ticks are no measure. */
const COLD_TICKS = 4;
/** Less than this above the configured interval is no stretching. */
const WORTHWHILE = 1.2;

export function newStretch(intervalMs: number, budgetPercent: number): Stretch {
  let before: number | null = null;
  let cost: number | null = null;
  let ticks = 0;
  return {
    afterTick: (cpuMs) => {
      const spent = before === null ? 0 : cpuMs - before;
      before = cpuMs;
      if (ticks++ < COLD_TICKS) {
        // Thousands of processes are dear from the first look on.
        if (spent * 100 < intervalMs * budgetPercent * 10) return intervalMs;
      }
      cost = cost === null ? spent : cost + WEIGHT * (spent - cost);
      const wanted = (cost * 100) / budgetPercent;
      return wanted > intervalMs * WORTHWHILE ? Math.min(LONGEST_MS, wanted) : intervalMs;
    },
  };
}

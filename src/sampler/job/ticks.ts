/** Ages of the job (ms) at which it is read in its first moments; after that, every interval. */
const EARLY_TICKS = [50, 100, 200, 400, 800] as const;

/** The next tick after `age` (all in ms since the job's start), on absolute time so that lateness never adds up. */
export function nextTick(age: number, interval: number): number {
  for (const early of EARLY_TICKS) if (early > age && early < interval) return early;
  return (Math.floor(age / interval) + 1) * interval;
}

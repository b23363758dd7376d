import { monotonicMs } from '../../base/monotonic';

/** Less is no setting of the clock: it is what lies between two readings of it. */
const LEAST_MS = 1000;
/** Both clocks are read again if more than this passed meanwhile. */
const NEAR_MS = 5;

/** How far the time of day (ms since the epoch) is ahead of the monotonic clock. */
function timeOfDayAhead(): number {
  let ahead = 0;
  let nearest = Infinity;
  for (let tries = 0; tries < 5 && nearest > NEAR_MS; tries++) {
    const before = monotonicMs();
    const nowMs = Date.now();
    const gap = monotonicMs() - before;
    if (gap >= nearest) continue;
    nearest = gap;
    ahead = nowMs - before;
  }
  return ahead;
}

/**
 * The time of day (ms since the epoch) as the host's clock had it when the job began: where that is set later, no
 * reading moves, and spans of time stay what passed.
 */
export class JobClock {
  /** `aheadMs`: that of an earlier sampler's clock for this job; left out: there was none. */
  constructor(private aheadMs = timeOfDayAhead()) {}

  /** The job begins now. */
  begin(): void {
    this.aheadMs = timeOfDayAhead();
  }

  now(): number {
    return Math.round(monotonicMs() + this.aheadMs);
  }

  /** By how many ms the host's clock has been set ahead (below 0: back) since the job began. */
  setByMs(): number {
    const ms = Math.round(timeOfDayAhead() - this.aheadMs);
    return Math.abs(ms) < LEAST_MS ? 0 : ms;
  }

  /** For the sampler that takes over during this boot. */
  save(): number {
    return this.aheadMs;
  }
}

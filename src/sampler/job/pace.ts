import type { Settings } from '../../record/settings';

/** When a job is read, and what that costs. */

/** Ages of the job (ms) at which it is read in its first moments; after that, every interval. */
const EARLY_TICKS = [50, 100, 200, 400, 800] as const;
/** Until then a job's first moments decide when it is looked at. */
const ALIGNED_FROM_MS = 1600;

/** The next tick after `age` (all in ms since the job's start), on absolute time so that lateness never adds up. */
export function nextTick(age: number, interval: number): number {
  for (const early of EARLY_TICKS) if (early > age && early < interval) return early;
  return (Math.floor(age / interval) + 1) * interval;
}

/** CPU time that something has taken, in seconds. */
export interface CpuMeter {
  seconds(): number;
  /** Runs `action`; what it takes counts. */
  around<T>(action: () => T): T;
}

function processCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** All that this process takes: it works for one job only. */
export const WHOLE_PROCESS: CpuMeter = { seconds: processCpuSeconds, around: (action) => action() };

/** What this process takes for one of its jobs: only what is run through `around`. */
export function newShareMeter(): CpuMeter {
  let spent = 0;
  return {
    seconds: () => spent,
    around: (action) => {
      const before = processCpuSeconds();
      try {
        return action();
      } finally {
        spent += processCpuSeconds() - before;
      }
    },
  };
}

/** Keeps a sampler to its share of a core: what a tick costs decides how far it is to the next one. */
export interface Throttle {
  /** `cpuMs`: CPU time of this process so far. The interval from now on, in ms. */
  afterTick(cpuMs: number): number;
}

const LONGEST_MS = 60_000;
/** Of the last cost against those before: a single expensive tick (code that is loaded) changes little. */
const WEIGHT = 0.4;
/** Start-up and the first, cold ticks are no measure. */
export const COLD_TICKS = 4;
/** Less than this above the configured interval changes nothing. */
const WORTHWHILE = 1.2;

/** The interval where costs ask for `wantedMs`, in ms. */
export function stretched(intervalMs: number, wantedMs: number): number {
  return wantedMs > intervalMs * WORTHWHILE ? Math.min(LONGEST_MS, wantedMs) : intervalMs;
}

/** The throttle of a process that has one job; `budgetPercent` of a core. */
export function newThrottle(intervalMs: number, budgetPercent: number): Throttle {
  let before: number | null = null;
  let cost: number | null = null;
  let ticks = 0;
  return {
    afterTick: (cpuMs) => {
      const spent = before === null ? 0 : cpuMs - before;
      before = cpuMs;
      // Thousands of processes are expensive from the first look on.
      if (ticks++ < COLD_TICKS && spent * 100 < intervalMs * budgetPercent * 10) return intervalMs;
      cost = cost === null ? spent : cost + WEIGHT * (spent - cost);
      return stretched(intervalMs, (cost * 100) / budgetPercent);
    },
  };
}

/** A job that slept through so many looks is at rest: */
const LOOKS_ASLEEP = 10;
/** until it stirs it is looked at this often, or every interval where that is longer. */
const RESTING_MS = 5000;

/** When the looks at one job come. Times in ms since the epoch. */
export class Pace {
  intervalMs: number;
  private lastScanMs: number;
  /** Looks in a row that found all of the job's processes asleep since the one before. */
  private looksAsleep = 0;
  /** CPU time as the throttle counts it: of looks that come every interval. */
  private countedMs = 0;
  private cpuMs = 0;

  /**
   * `phaseMs`: looks come at whole intervals after this moment, together with other jobs'; undefined: after the job's
   * start. `resumedMs`: the interval of a predecessor; null: there was none.
   */
  constructor(
    private readonly settings: Settings,
    private readonly throttle: Throttle,
    private readonly phaseMs: number | undefined,
    resumedMs: number | null,
  ) {
    this.intervalMs = resumedMs ?? settings.interval * 1000;
    this.lastScanMs = Date.now();
  }

  /**
   * After a look: `cpuSeconds` that the looks have taken so far, `asleep`: nothing of the job has run since the one before,
   * and the kernel would say so. Returns whether the interval was stretched for its cost.
   */
  afterLook(cpuSeconds: number, asleep: boolean): boolean {
    // At rest a look stands for several.
    this.countedMs += ((cpuSeconds * 1000 - this.cpuMs) * this.intervalMs) / this.betweenLooksMs;
    this.cpuMs = cpuSeconds * 1000;
    this.looksAsleep = asleep ? this.looksAsleep + 1 : 0;
    this.intervalMs = this.throttle.afterTick(this.countedMs);
    return this.intervalMs > this.settings.interval * 1000;
  }

  /** The job forks, executes or ends, or that is no longer heard. Returns whether it was at rest: its next look is sooner now. */
  stir(): boolean {
    const { isAtRest } = this;
    this.looksAsleep = 0;
    return isAtRest;
  }

  private get isAtRest(): boolean {
    return this.looksAsleep >= LOOKS_ASLEEP;
  }

  private get betweenLooksMs(): number {
    return this.isAtRest ? Math.max(this.intervalMs, RESTING_MS) : this.intervalMs;
  }

  /** Whether this look goes through all of /proc: for all jobs of a process in the same second, and it is done once. */
  scansAt(nowMs: number, last: boolean): boolean {
    const everyMs = this.settings.scan_interval * 1000;
    // Not only later: the clock may have been set back.
    const due =
      this.phaseMs === undefined || everyMs < ALIGNED_FROM_MS
        ? Math.abs(nowMs - this.lastScanMs) >= everyMs
        : Math.floor(nowMs / everyMs) !== Math.floor(this.lastScanMs / everyMs);
    if (due || last) this.lastScanMs = nowMs;
    return due || last;
  }

  untilNextLook(nowMs: number, startMs: number): number {
    const { phaseMs, betweenLooksMs: intervalMs } = this;
    const age = nowMs - startMs;
    // A clock that was set back makes a job as young as it likes.
    const wait = Math.min(nextTick(age, intervalMs) - age, intervalMs);
    if (phaseMs === undefined || age + wait < ALIGNED_FROM_MS) return wait;
    return intervalMs - ((((nowMs - phaseMs) % intervalMs) + intervalMs) % intervalMs);
  }
}

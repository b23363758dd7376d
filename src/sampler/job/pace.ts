import type { Settings } from '../../record/settings';

/** When a job is read, and what that costs. */

/** Ages of the job (ms) at which it is read in its first moments; after that, every interval. */
const EARLY_TICKS = [50, 100, 200, 400, 800] as const;
/** Age (ms) from which a job is read in step with the others; before, its own start sets the times. */
const ALIGNED_FROM_MS = 1600;

/** The next tick after `age` (all in ms since the job's start), on absolute time so that lateness never adds up. */
export function nextTick(age: number, interval: number): number {
  for (const early of EARLY_TICKS) if (early > age && early < interval) return early;
  return (Math.floor(age / interval) + 1) * interval;
}

/** CPU time that something has taken, in seconds. */
export interface CpuMeter {
  seconds(): number;
  /** Runs `action` and counts the CPU time it takes. */
  around<T>(action: () => T): T;
}

function processCpuSeconds(): number {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
}

/** All CPU time of this process, which works for one job only. */
export const WHOLE_PROCESS: CpuMeter = { seconds: processCpuSeconds, around: (action) => action() };

/** CPU time of this process for one of its jobs: only what runs through `around`. */
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

/** Keeps a sampler within its share of a core: the more a tick costs, the later the next one comes. */
export interface Throttle {
  /** Returns the interval from now on, in ms. `cpuMs`: CPU time spent so far. */
  afterTick(cpuMs: number): number;
}

const LONGEST_MS = 60_000;
/** Weight of the last cost in the running mean: a single expensive tick (code being loaded) changes little. */
const WEIGHT = 0.4;
/** The first ticks, while code is loaded, do not show the true cost. */
export const COLD_TICKS = 4;
/** The interval changes only if it would be longer than this many configured intervals. */
const WORTHWHILE = 1.2;

/** The interval to use if the costs call for `wantedMs`, in ms. */
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
      // A job of thousands of processes is expensive from the first tick on.
      if (ticks++ < COLD_TICKS && spent * 100 < intervalMs * budgetPercent * 10) return intervalMs;
      cost = cost === null ? spent : cost + WEIGHT * (spent - cost);
      return stretched(intervalMs, (cost * 100) / budgetPercent);
    },
  };
}

/** A job that slept through this many readings in a row is at rest. */
const LOOKS_ASLEEP = 10;
/** How often a job at rest is read; the normal interval, if longer. */
const RESTING_MS = 5000;

/** Decides when one job is read. Times in ms since the epoch. */
export class Pace {
  intervalMs: number;
  private lastScanMs: number;
  /** Readings in a row that found all of the job's processes asleep since the reading before. */
  private looksAsleep = 0;
  /** CPU time for the throttle, which expects a reading every interval. */
  private countedMs = 0;
  private cpuMs = 0;

  /**
   * `phaseMs`: the job is read at whole intervals after this moment, together with others; undefined: after its own
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
   * To be called after each reading. `cpuSeconds`: CPU time of all readings so far; `asleep`: no process of the job has
   * run since the reading before, and the kernel's events are heard. Returns whether costs stretch the interval.
   */
  afterLook(cpuSeconds: number, asleep: boolean): boolean {
    // At rest the cost of one reading is spread over several intervals.
    this.countedMs += ((cpuSeconds * 1000 - this.cpuMs) * this.intervalMs) / this.betweenLooksMs;
    this.cpuMs = cpuSeconds * 1000;
    this.looksAsleep = asleep ? this.looksAsleep + 1 : 0;
    this.intervalMs = this.throttle.afterTick(this.countedMs);
    return this.intervalMs > this.settings.interval * 1000;
  }

  /** A process of the job forks, executes or ends, or events are lost from now on. Returns whether it was at rest. */
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

  /** Whether this reading scans all of /proc. Jobs that share a process scan in step, so that one scan serves all. */
  scansAt(nowMs: number, last: boolean): boolean {
    const everyMs = this.settings.scan_interval * 1000;
    // In both directions: the clock may have been set back.
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
    // A clock that was set back can make the age negative, and the next tick distant.
    const wait = Math.min(nextTick(age, intervalMs) - age, intervalMs);
    if (phaseMs === undefined || age + wait < ALIGNED_FROM_MS) return wait;
    return intervalMs - ((((nowMs - phaseMs) % intervalMs) + intervalMs) % intervalMs);
  }
}

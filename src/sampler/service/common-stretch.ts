import type { Throttle } from '../job/pace';

/**
 * Keeps all jobs of one process together to its share of a core. Where they cost more, the share is divided fairly: a job
 * that costs no more than an equal part keeps its interval, and the dear ones divide what is left.
 */
interface CommonStretch {
  job(name: string): Throttle;
  end(name: string): void;
}

const LONGEST_MS = 60_000;
/** Of the last cost against those before. */
const WEIGHT = 0.2;
/** The first, cold looks are no measure. */
const COLD_TICKS = 4;
/** Less than this above the configured interval is no stretching. */
const WORTHWHILE = 1.2;
/** A share for one job would blind a node that runs a hundred: the budget grows with them, to this share of a core. */
const JOBS_PER_SHARE = 16;

/**
 * The most CPU time (ms) in one interval for any one job, so that all jobs together take no more than `budget`; each takes
 * its cost or, where that is more, this.
 */
function fairShare(costs: ReadonlyMap<string, number>, budget: number): number {
  let all = 0;
  for (const cost of costs.values()) all += cost;
  if (all <= budget) return Infinity;
  const ascending = [...costs.values()].sort((a, b) => a - b);
  let left = budget;
  for (const [index, cost] of ascending.entries()) {
    const share = left / (ascending.length - index);
    if (cost > share) return share;
    left -= cost;
  }
  return Infinity;
}

/** `budgetPercent` of a core for up to 16 jobs, twice that for up to 32, and so on. */
export function commonStretch(intervalMs: number, budgetPercent: number): CommonStretch {
  const costs = new Map<string, number>();
  return {
    job: (name) => {
      let before = 0;
      let ticks = 0;
      return {
        afterTick: (cpuMs) => {
          const spent = cpuMs - before;
          before = cpuMs;
          if (ticks++ < COLD_TICKS) return intervalMs;
          const known = costs.get(name);
          const cost = known === undefined ? spent : known + WEIGHT * (spent - known);
          costs.set(name, cost);
          const budget = (intervalMs * budgetPercent * Math.ceil(costs.size / JOBS_PER_SHARE)) / 100;
          const share = fairShare(costs, budget);
          const wanted = cost > share ? (intervalMs * cost) / share : intervalMs;
          return wanted > intervalMs * WORTHWHILE ? Math.min(LONGEST_MS, wanted) : intervalMs;
        },
      };
    },
    end: (name) => {
      costs.delete(name);
    },
  };
}

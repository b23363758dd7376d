import { COLD_TICKS, stretched, type Throttle } from '../job/pace';

/** Weight of the last cost in the running mean. */
const WEIGHT = 0.2;
/** One job's budget would not do for a node that runs a hundred: it grows by as much for every this many jobs. */
const JOBS_PER_SHARE = 16;

/**
 * The most CPU time (ms) in one interval for any one job, so that all jobs together take no more than `budget`: each
 * takes its cost, but no more than this.
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

/**
 * Keeps all jobs of one process together to their share of a core. Where they cost more, the share is divided fairly: a
 * job that costs no more than an equal part keeps its interval, and the expensive ones divide what is left.
 */
export class CpuBudget {
  /** CPU time (ms) of one tick, by job. */
  private readonly costs = new Map<string, number>();

  /** `percent` of a core for up to 16 jobs, twice that for up to 32, and so on. */
  constructor(
    private readonly intervalMs: number,
    private readonly percent: number,
  ) {}

  job(name: string): Throttle {
    let before = 0;
    let ticks = 0;
    return {
      afterTick: (cpuMs) => {
        const spent = cpuMs - before;
        before = cpuMs;
        return ticks++ < COLD_TICKS ? this.intervalMs : this.intervalOf(name, spent);
      },
    };
  }

  end(name: string): void {
    this.costs.delete(name);
  }

  private intervalOf(name: string, spent: number): number {
    const intervalMs = this.intervalMs;
    const known = this.costs.get(name);
    const cost = known === undefined ? spent : known + WEIGHT * (spent - known);
    this.costs.set(name, cost);
    const budget = (intervalMs * this.percent * Math.ceil(this.costs.size / JOBS_PER_SHARE)) / 100;
    const share = fairShare(this.costs, budget);
    return cost > share ? stretched(intervalMs, (intervalMs * cost) / share) : intervalMs;
  }
}

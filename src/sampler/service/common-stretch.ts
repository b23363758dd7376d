import type { Stretch } from '../stretch';

/** Keeps all jobs of one process together to its share of a core: each is looked at less often when all cost too much. */
export interface CommonStretch {
  job(name: string): Stretch;
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
          costs.set(name, known === undefined ? spent : known + WEIGHT * (spent - known));
          let all = 0;
          for (const cost of costs.values()) all += cost;
          const budget = budgetPercent * Math.ceil(costs.size / JOBS_PER_SHARE);
          const wanted = (all * 100) / budget;
          return wanted > intervalMs * WORTHWHILE ? Math.min(LONGEST_MS, wanted) : intervalMs;
        },
      };
    },
    end: (name) => {
      costs.delete(name);
    },
  };
}

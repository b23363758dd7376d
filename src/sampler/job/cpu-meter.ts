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

import { allPids, ProcessFiles } from '../../sources/proc/process-files';
import { parentPid, supplementaryGroups } from '../../sources/proc/status';

/** A process of the machine, as first read. */
export interface SeenProcess {
  readonly pid: number;
  readonly parent: number;
  readonly groups: readonly number[];
}

/**
 * All processes of the machine, to find those that left their job's tree. One scan can serve several jobs.
 */
export interface MachineScan {
  /** `atMs`: now, in ms of any clock that all callers share. */
  processes(atMs: number): Iterable<SeenProcess>;
}

/** How often known pids are read anew: they may be re-used, and parents and groups change, but not within seconds. */
const FULL_SCAN_EVERY_MS = 60_000;

/** A scan that is less than `freshMs` old is used again. */
export function newMachineScan(procRoot = '/proc', freshMs = 0): MachineScan {
  let known = new Map<number, SeenProcess>();
  let lastMs = -Infinity;
  let fullMs = -Infinity;
  return {
    processes: (atMs) => {
      if (atMs - lastMs < freshMs && atMs >= lastMs) return known.values();
      lastMs = atMs;
      if (atMs - fullMs > FULL_SCAN_EVERY_MS || atMs < fullMs) {
        known = new Map();
        fullMs = atMs;
      }
      const now = new Map<number, SeenProcess>();
      for (const pid of allPids(procRoot)) {
        const seen =
          known.get(pid) ??
          new ProcessFiles(pid, { left: 0 }, procRoot).status((text, length) => ({
            pid,
            parent: parentPid(text, length),
            groups: supplementaryGroups(text, length),
          }));
        if (seen !== null) now.set(pid, seen);
      }
      known = now;
      return known.values();
    },
  };
}

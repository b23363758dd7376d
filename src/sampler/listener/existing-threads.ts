import { readdirSync } from 'node:fs';
import { allPids } from '../../sources/proc/process-files';

/** Threads of every process that has more than one, as they are now. */
export function existingThreads(procRoot = '/proc'): ReadonlyMap<number, readonly number[]> {
  const threads = new Map<number, readonly number[]>();
  for (const pid of allPids(procRoot)) {
    try {
      const tids = readdirSync(`${procRoot}/${pid}/task`).map(Number);
      if (tids.length > 1) threads.set(pid, tids);
    } catch {
      // It has just ended.
    }
  }
  return threads;
}

import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { CgroupDirectories } from '../../src/sources/job/cgroup';
import { unavailable, type Unavailable } from '../../src/sources/source';

/** A job's own control group. */
export interface JobCgroup {
  readonly directories: CgroupDirectories;
  /** Call it when the processes have ended. */
  readonly remove: () => void;
}

const ROOT = '/sys/fs/cgroup';
const CONTROLLERS = ['memory', 'cpuacct', 'cpu', 'blkio', 'pids'] as const;

/** Makes the group and moves the processes into it. */
export function makeJobCgroup(pids: readonly number[]): JobCgroup | Unavailable {
  const name = `qmemacct-bench.${process.pid}.${pids.length}`;
  const made: string[] = [];
  const remove = (): void => {
    for (const directory of made.splice(0)) {
      try {
        rmdirSync(directory);
      } catch {
        // A process in it is still exiting: an empty directory stays.
      }
    }
  };
  const make = (parent: string): string => {
    const directory = join(parent, name);
    mkdirSync(directory);
    made.push(directory);
    for (const pid of pids) writeFileSync(join(directory, 'cgroup.procs'), String(pid));
    return directory;
  };
  try {
    if (existsSync(join(ROOT, 'cgroup.procs'))) return { directories: { version: 2, directory: make(ROOT) }, remove };
    const places = Object.fromEntries(
      CONTROLLERS.map((controller) => {
        const parent = join(ROOT, controller);
        return [controller, existsSync(join(parent, 'cgroup.procs')) ? make(parent) : null];
      }),
    ) as Record<(typeof CONTROLLERS)[number], string | null>;
    return { directories: { version: 1, ...places }, remove };
  } catch (error) {
    remove();
    return unavailable(`no cgroup can be made: ${error instanceof Error ? error.message : String(error)}`);
  }
}

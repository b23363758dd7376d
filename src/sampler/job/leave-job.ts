import { readFileSync, writeFileSync, existsSync, mkdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import * as libc from '../../native/libc';
import { parseCgroupFile } from '../../sources/proc/cgroup-file';

/** Each step is tried: without privilege the process stays as it is, which is no harm. */
function tryEach(steps: readonly (() => void)[]): void {
  for (const step of steps) {
    try {
      step();
    } catch {
      // Not allowed here.
    }
  }
}

/** Ordinary priority, among the last that the kernel kills for memory, and room for the files of all jobs. */
export function makeRoom(): void {
  tryEach([
    (): void => setPriority(0, 0),
    (): void => writeFileSync('/proc/self/oom_score_adj', '-500'),
    (): void => libc.raiseSoftLimit(libc.Rlimit.NOFILE),
  ]);
}

/**
 * Undoes what a process that the shepherd started has inherited and must not keep: CPU binding, nice value, a first place
 * on the kernel's list of victims, the job's or execd's cgroup.
 */
export function leaveJob(): void {
  makeRoom();
  tryEach([(): void => libc.useEveryCpu(), (): void => leaveCgroups('/proc', '/sys/fs/cgroup')]);
}

/** Own group at the top of a hierarchy: systemd ends what is in execd's unit, and leaves groups that it didn't make. */
export const OWN_GROUP = 'qmemacct';

/**
 * Moves this process out of every hierarchy's group that belongs to Grid Engine or to a systemd unit.
 * Memory and CPU controllers of v1 that were not set up stay as they are.
 */
export function leaveCgroups(procRoot: string, cgroupRoot: string): void {
  for (const { hierarchy, path } of parseCgroupFile(readFileSync(`${procRoot}/self/cgroup`, 'latin1'))) {
    if (path === '/' || path === `/${OWN_GROUP}`) continue;
    const unified = hierarchy === '';
    const top = unified
      ? existsSync(join(cgroupRoot, 'cgroup.procs'))
        ? cgroupRoot
        : join(cgroupRoot, 'unified')
      : join(cgroupRoot, hierarchy);
    // A cpuset needs its CPUs and memory nodes set before it takes a process: its top group is the simple way out.
    const target = hierarchy === 'cpuset' ? top : join(top, OWN_GROUP);
    try {
      if (target !== top) mkdirSync(target, { recursive: true });
      writeFileSync(join(target, 'cgroup.procs'), String(process.pid));
    } catch {
      // This hierarchy is not ours to change.
    }
  }
}

import { readFileSync, writeFileSync, mkdirSync } from 'node:fs';
import { setPriority } from 'node:os';
import { join } from 'node:path';
import * as libc from '../../native/libc';
import { unifiedTop } from '../../sources/job/job-cgroup';
import { parseCgroupFile } from '../../sources/proc/cgroup-file';

/** Tries each step: one that needs a privilege we lack changes nothing, which does no harm. */
function tryEach(steps: readonly (() => void)[]): void {
  for (const step of steps) {
    try {
      step();
    } catch {
      // Not allowed here.
    }
  }
}

/** Sets ordinary priority, a low OOM score, and enough file descriptors for all jobs. */
export function makeRoom(): void {
  tryEach([
    (): void => setPriority(0, 0),
    (): void => writeFileSync('/proc/self/oom_score_adj', '-500'),
    (): void => libc.raiseSoftLimit(libc.Rlimit.NOFILE),
  ]);
}

/**
 * Undoes what a process inherits from the shepherd and must not keep: CPU binding, nice value, a high OOM score, the
 * job's or execd's cgroup.
 */
export function leaveJob(): void {
  makeRoom();
  tryEach([(): void => libc.useEveryCpu(), (): void => leaveCgroups('/proc', '/sys/fs/cgroup')]);
}

/** Our group at the top of a hierarchy: systemd kills what is in execd's unit, but not what is in groups of others. */
export const OWN_GROUP = 'qmemacct';

/**
 * Moves this process to our own group in every hierarchy, out of the groups of Grid Engine and of systemd's units. In a
 * hierarchy where it is in the top group, it stays there.
 */
export function leaveCgroups(procRoot: string, cgroupRoot: string): void {
  for (const { hierarchy, path } of parseCgroupFile(readFileSync(`${procRoot}/self/cgroup`, 'latin1'))) {
    if (path === '/' || path === `/${OWN_GROUP}`) continue;
    const top = hierarchy === '' ? unifiedTop(cgroupRoot) : join(cgroupRoot, hierarchy);
    // A new cpuset takes no process before its CPUs and memory nodes are set: the top group is simpler.
    const target = hierarchy === 'cpuset' ? top : join(top, OWN_GROUP);
    try {
      if (target !== top) mkdirSync(target, { recursive: true });
      writeFileSync(join(target, 'cgroup.procs'), String(process.pid));
    } catch {
      // This hierarchy is not ours to change.
    }
  }
}

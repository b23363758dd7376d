import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { release } from 'node:os';
import { join } from 'node:path';
import { findingsIn, type Finding } from './finding';

const { ok, note, warning } = findingsIn('kernel');

function readIfThere(path: string): string | null {
  try {
    return readFileSync(path, 'latin1').trim();
  } catch {
    return null;
  }
}

/** By the mounts: v2, v1, both ("hybrid"), or none. */
export function cgroupVersion(mounts: string): 'v1' | 'v2' | 'hybrid' | null {
  const types = mounts.split('\n').map((line) => line.split(' ')[2]);
  const [one, two] = [types.includes('cgroup'), types.includes('cgroup2')];
  if (one && two) return 'hybrid';
  return two ? 'v2' : one ? 'v1' : null;
}

function hasPowercap(sysRoot: string): boolean {
  try {
    return readdirSync(join(sysRoot, 'class', 'powercap')).some((name) => name.startsWith('intel-rapl'));
  } catch {
    return false;
  }
}

/** What this kernel offers to read. Absent is not failed: a figure that can't be had is open in the record, or left out. */
export function checkKernel(procRoot = '/proc', sysRoot = '/sys'): Finding[] {
  const cgroups = cgroupVersion(readIfThere(join(procRoot, 'mounts')) ?? '');
  const paranoid = readIfThere(join(procRoot, 'sys/kernel/perf_event_paranoid'));
  const hidden = /hidepid=(?:[12]|invisible|noaccess)/.test(
    (readIfThere(join(procRoot, 'mounts')) ?? '').split('\n').find((line) => line.split(' ')[2] === 'proc') ?? '',
  );
  return [
    ok('version', release()),
    existsSync(join(procRoot, 'self/task')) && existsSync(join(procRoot, 'thread-self/children'))
      ? ok('process tree', 'the kernel lists children (PROC_CHILDREN)')
      : note('process tree', 'no lists of children (PROC_CHILDREN): all of /proc is read at each sample instead'),
    existsSync(join(procRoot, 'self/smaps_rollup'))
      ? ok('smaps_rollup', 'present')
      : note('smaps_rollup', 'absent (before 4.14): no shared memory apportioned'),
    existsSync(join(procRoot, 'self/io'))
      ? ok('process I/O', 'counted (TASK_IO_ACCOUNTING)')
      : warning('process I/O', 'not counted by this kernel: no I/O figures', 'use a kernel with TASK_IO_ACCOUNTING'),
    note('taskstats', existsSync(join(procRoot, 'sys/kernel/task_delayacct')) ? 'present' : 'not seen'),
    paranoid === null ? note('perf events', 'absent') : note('perf events', `perf_event_paranoid is ${paranoid}`),
    hasPowercap(sysRoot) ? note('powercap', 'present') : note('powercap', 'absent: no energy figures'),
    cgroups === null ? note('cgroups', 'none mounted') : note('cgroups', cgroups),
    ...(hidden
      ? [warning('hidepid', '/proc hides processes: hooks as the job owner see that user only', 'use hooks as root')]
      : []),
  ];
}

import { readdirSync, readFileSync } from 'node:fs';
import { TICKS_PER_SECOND } from '../../src/sources/proc/clock';

/** CPU time and memory of a process so far, read from outside. */

/** CPU time in ms of its children that it has waited for, in steps of a clock tick. */
export function childrenCpuMs(pid: number): number {
  const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  // Fields 16 and 17 of proc_pid_stat(5), cutime and cstime; the list starts with field 3.
  return ((Number(fields[13]) + Number(fields[14])) * 1000) / TICKS_PER_SECOND;
}

/** CPU time in ms of its own living threads, exact to the nanosecond. */
function ownCpuMs(pid: number): number {
  let nanoseconds = 0;
  for (const tid of readdirSync(`/proc/${pid}/task`))
    nanoseconds += Number(readFileSync(`/proc/${pid}/task/${tid}/schedstat`, 'latin1').split(' ')[0]);
  return nanoseconds / 1e6;
}

/** CPU time in ms of a process and of its waited-for children. */
export function cpuMs(pid: number): number {
  return ownCpuMs(pid) + childrenCpuMs(pid);
}

export interface MemoryCost {
  /** MiB. */
  readonly rss: number;
  readonly pss: number;
  readonly privateDirty: number;
}

export function memoryCost(pid: number): MemoryCost {
  const text = readFileSync(`/proc/${pid}/smaps_rollup`, 'latin1');
  const mib = (key: string): number => Number(new RegExp(`^${key}: +(\\d+) kB$`, 'm').exec(text)?.[1] ?? NaN) / 1024;
  return { rss: mib('Rss'), pss: mib('Pss'), privateDirty: mib('Private_Dirty') };
}

/** Pids of a process group. */
export function pidsOfGroup(group: number): readonly number[] {
  return readdirSync('/proc')
    .filter((name) => /^\d+$/.test(name))
    .filter((name) => {
      try {
        const text = readFileSync(`/proc/${name}/stat`, 'latin1');
        return Number(text.slice(text.lastIndexOf(')') + 2).split(' ')[2]) === group;
      } catch {
        return false;
      }
    })
    .map(Number);
}

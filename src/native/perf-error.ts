import { readFileSync } from 'node:fs';

/** Why a counter can't be opened, and how to change that (null: not possible). One line each. */
export interface PerfRefusal {
  readonly unavailable: string;
  readonly fix: string | null;
}

/** Linux errno numbers of perf_event_open, the same on every architecture supported here. */
export const PerfErrno = {
  EPERM: 1,
  ENOENT: 2,
  ESRCH: 3,
  ENXIO: 6,
  E2BIG: 7,
  EACCES: 13,
  EBUSY: 16,
  ENODEV: 19,
  EINVAL: 22,
  ENFILE: 23,
  EMFILE: 24,
  ENOSYS: 38,
  EOPNOTSUPP: 95,
} as const;

/** kernel.perf_event_paranoid; null: the kernel has no perf events. */
export function perfEventParanoid(proc = '/proc'): number | null {
  try {
    const text = readFileSync(`${proc}/sys/kernel/perf_event_paranoid`, 'latin1').trim();
    return /^-?\d{1,9}$/.test(text) ? Number(text) : null;
  } catch {
    return null;
  }
}

/** The errno of perf_event_open in words. `about`: what was to be counted. */
export function explainPerfError(errno: number, about: string, paranoid = perfEventParanoid()): PerfRefusal {
  const refuse = (why: string, fix: string | null = null): PerfRefusal => ({ unavailable: `${about}: ${why}`, fix });
  switch (errno) {
    case PerfErrno.EACCES:
      return refuse(
        `permission denied (kernel.perf_event_paranoid is ${paranoid ?? 'unknown'})`,
        'run the hooks as root, or lower kernel.perf_event_paranoid: 1 for own processes, 0 for CPUs',
      );
    case PerfErrno.EPERM:
      return refuse(
        `not permitted (kernel.perf_event_paranoid is ${paranoid ?? 'unknown'})`,
        "give CAP_PERFMON, and let perf_event_open through a container's seccomp filter and a locked-down kernel",
      );
    case PerfErrno.ENOENT:
    case PerfErrno.EOPNOTSUPP:
      return refuse('this CPU has no such counter', 'in a virtual machine: give it a virtual PMU');
    case PerfErrno.ENODEV:
    case PerfErrno.ENXIO:
      return refuse('the CPU is offline, or has no such counter');
    case PerfErrno.ESRCH:
      return refuse('the process is gone');
    case PerfErrno.EINVAL:
      return refuse("the kernel does not know this code, or can't count it this way", "check the event's code");
    case PerfErrno.E2BIG:
      return refuse('this kernel is too old for the event');
    case PerfErrno.EBUSY:
      return refuse('another program holds the counters for itself');
    case PerfErrno.EMFILE:
    case PerfErrno.ENFILE:
      return refuse('no file descriptors left', 'raise the limit of open files, or name fewer events');
    case PerfErrno.ENOSYS:
      return refuse('this kernel has no perf events');
    default:
      return refuse(`errno ${errno}`);
  }
}

import { readFileSync } from 'node:fs';
import { release } from 'node:os';
import { pageSize } from '../../sources/page-size';

/**
 * How far the kernel's RSS counters may be from the truth, per address space.
 *  - before 6.2 each thread keeps up to 64 page changes per counter to itself (TASK_RSS_EVENTS_THRESH, mm/memory.c);
 *  - 6.2 to 6.16 each counter is a percpu_counter read without summing: off by up to batch x CPUs pages either way,
 *    batch = max(32, 2 x CPUs) (lib/percpu_counter.c);
 *  - from 6.17 status and statm sum the per-CPU parts: exact.
 * RSS is the sum of three such counters (file, anonymous, shared memory).
 * The high-water marks (VmHWM, ru_maxrss, taskstats) follow the batched counters on every kernel: on 6.18 they were seen
 * 200 KiB below and 70 KiB above the pages really resident, with two CPUs.
 */
export interface CounterPrecision {
  readonly kernel: readonly [number, number];
  readonly pageSize: number;
  readonly cpus: number;
}

const COUNTERS = 3;
const EVENTS_PER_THREAD = 64;

/** Major and minor number of a kernel release such as "6.1.0-30-amd64"; [0, 0] when it can't be read. */
export function kernelVersion(release: string): readonly [number, number] {
  const match = /^(\d+)\.(\d+)/.exec(release);
  return match ? [Number(match[1]), Number(match[2])] : [0, 0];
}

const version = ({ kernel: [major, minor] }: CounterPrecision): number => major * 1000 + minor;

/** Largest error, in bytes, of a high-water mark of a process with `threads` threads. */
export function markSlackBytes(precision: CounterPrecision, threads: number): number {
  if (version(precision) >= 6002) {
    const batch = Math.max(32, 2 * precision.cpus);
    return COUNTERS * batch * precision.cpus * precision.pageSize;
  }
  return COUNTERS * Math.max(1, threads) * EVENTS_PER_THREAD * precision.pageSize;
}

/** Largest error, in bytes, of one RSS reading (status, statm) of a process with `threads` threads. */
export function slackBytes(precision: CounterPrecision, threads: number): number {
  return version(precision) >= 6017 ? 0 : markSlackBytes(precision, threads);
}

let known: CounterPrecision | null = null;

/** CPUs that the kernel could bring up: its per-CPU counters have a part for each ("0-127" in sysfs). */
function possibleCpus(): number {
  try {
    const list = readFileSync('/sys/devices/system/cpu/possible', 'latin1').trim();
    return Number(list.split(/[-,]/).pop()) + 1;
  } catch {
    return 1;
  }
}

/** How exact memory readings are on this machine. */
export function thisMachine(): CounterPrecision {
  known ??= { kernel: kernelVersion(release()), pageSize: pageSize(), cpus: possibleCpus() };
  return known;
}

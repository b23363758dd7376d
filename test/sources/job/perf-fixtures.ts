import { join } from 'node:path';
import type { PerfCalls, PerfCount, PerfRequest } from '../../../src/native/perf-event';
import { PerfErrno } from '../../../src/native/perf-error';
import { packageRoot } from '../../../src/base/package-root';

/** Machines whose /sys/bus/event_source is in test/fixtures/perf; none of them was at hand to count on. */
export const MACHINES = ['intel-xeon', 'intel-hybrid', 'amd-zen3', 'arm-neoverse', 'arm-big-little'] as const;
export type Machine = (typeof MACHINES)[number];

export const sysOf = (machine: Machine): string => join(packageRoot(), 'test', 'fixtures', 'perf', machine);

/** A place on one of these machines; its /proc holds nothing unless a test says so. */
export const placeOf = (machine: Machine, proc = '/nonexistent') => ({ sys: sysOf(machine), proc });

/** "type:config" of a request. */
export const codeOf = ({ type, config }: PerfRequest): string => `${type}:${config.toString(16)}`;

const SOFTWARE = 1;

interface FakeCpu {
  /** Counters that the kernel allows a group. */
  readonly counters?: number;
  /** How many of these somebody else holds, which the kernel notices only when it counts. */
  readonly held?: number;
  /** The errno for a request; undefined: it opens. */
  readonly refuse?: (request: PerfRequest) => number | undefined;
  /** What a counter reads; undefined: it ran all of a second and counted 1000. */
  readonly count?: (request: PerfRequest, reading: number) => PerfCount | null | undefined;
}

export interface FakePerf extends PerfCalls {
  /** Descriptors that are open now. */
  readonly alive: ReadonlyMap<number, PerfRequest>;
  /** The code of the group's leader, by the code of an open event. */
  readonly leaderOf: (code: string) => string | undefined;
  readonly enabled: ReadonlySet<number>;
}

/** System calls of a kernel with such a CPU. Everything opened on the calling thread (pid 0) is a trial. */
export function fakePerf({ counters = 8, held = 0, refuse, count }: FakeCpu = {}): FakePerf {
  const alive = new Map<number, PerfRequest>();
  const enabled = new Set<number>();
  const readings = new Map<number, number>();
  let next = 100;
  const leader = (fd: number): number => {
    const group = alive.get(fd)?.group ?? -1;
    return group < 0 ? fd : group;
  };
  const sizeOf = (fd: number): number =>
    [...alive].filter(([other, { type }]) => type !== SOFTWARE && leader(other) === leader(fd)).length;
  return {
    alive,
    enabled,
    leaderOf: (code) => {
      const [fd] = [...alive].find(([, request]) => codeOf(request) === code && request.pid !== 0) ?? [];
      const request = fd === undefined ? undefined : alive.get(leader(fd));
      return request === undefined ? undefined : codeOf(request);
    },
    open: (request) => {
      const errno = refuse?.(request);
      if (errno !== undefined) return -errno;
      if (request.group >= 0 && sizeOf(request.group) >= counters) return -PerfErrno.EINVAL;
      alive.set(next, request);
      return next++;
    },
    read: (fd) => {
      const request = alive.get(fd);
      if (request === undefined) return null;
      const reading = (readings.get(fd) ?? 0) + 1;
      readings.set(fd, reading);
      if (!enabled.has(leader(fd))) return { raw: 0, enabledNs: 0, runningNs: 0 };
      if (sizeOf(fd) > counters - held) return { raw: 0, enabledNs: 1e9, runningNs: 0 };
      const counted = request.pid === 0 ? undefined : count?.(request, reading);
      return counted === undefined ? { raw: 1000, enabledNs: 1e9, runningNs: 1e9 } : counted;
    },
    enable: (fd) => void enabled.add(fd),
    close: (fd) => void alive.delete(fd),
  };
}

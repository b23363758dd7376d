import type { PerfCalls } from '../../native/perf-event';
import type { ResolvedEvent } from './perf-event-names';
import type { PerfReading } from './perf-metrics';
import { advance, combine, NOTHING_COUNTED, type Scaled } from './perf-scale';

/** The kernel counts in nanoseconds what is reported in seconds. */
const NS_PER_SECOND = 1e9;

/** The counters of one event that are scaled as one: a descriptor, or one per kind of core. */
interface Lane {
  readonly fds: readonly number[];
  readonly sum: Scaled;
}

export const newLane = (fds: readonly number[]): Lane => ({ fds, sum: NOTHING_COUNTED });

const readLane = ({ fds, sum }: Lane, calls: PerfCalls): Lane => ({
  fds,
  sum: advance(sum, combine(fds.map((fd) => calls.read(fd)))),
});

/** One event of the job: all that was counted, the process's own share, and the greatest value reported so far. */
export interface Counter {
  readonly names: readonly string[];
  readonly unit: ResolvedEvent['unit'];
  readonly all: Lane;
  readonly own: Lane;
  readonly highest: number;
}

/** Reads a counter and, right after, the process's own share. The difference is reported so that it never shrinks. */
export function readCounter(counter: Counter, calls: PerfCalls): Counter {
  const all = readLane(counter.all, calls);
  const own = readLane(counter.own, calls);
  return { ...counter, all, own, highest: Math.max(counter.highest, all.sum.value - own.sum.value) };
}

/** What a counter has counted so far, by each of its names. */
export function readingsOf({
  names,
  unit,
  all: { sum: all },
  own: { sum: own },
  highest,
}: Counter): readonly PerfReading[] {
  const enabled = all.enabledNs - own.enabledNs;
  const running = all.runningNs - own.runningNs;
  const never = all.enabledNs > 0 && all.runningNs === 0 && all.raw === 0;
  const reading = {
    value: never ? null : unit === 'seconds' ? highest / NS_PER_SECOND : highest,
    scaledShare: never ? 0 : enabled > 0 ? Math.min(1, Math.max(0, running / enabled)) : 1,
  };
  return names.map((event) => ({ event, ...reading }));
}

/** The counter with what it has counted so far; it is read no more. */
export function withoutDescriptors(counter: Counter): Counter {
  const blind = (lane: Lane): Lane => ({ ...lane, fds: [] });
  return { ...counter, all: blind(counter.all), own: blind(counter.own) };
}

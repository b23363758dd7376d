import type { PerfCalls } from '../../native/perf-event';
import type { ResolvedEvent } from './perf-event-names';
import type { PerfReading } from './perf-metrics';
import { advance, combine, NOTHING_COUNTED, type Scaled } from './perf-scale';

/** The kernel counts in nanoseconds what is reported in seconds. */
const NS_PER_SECOND = 1e9;

/** The counters of one event that are scaled as one: a descriptor, or one per kind of core. */
export interface Lane {
  readonly fds: readonly number[];
  readonly sum: Scaled;
}

export const descriptorsOf = (lanes: readonly Lane[]): readonly number[] => lanes.flatMap(({ fds }) => fds);

const readLane = ({ fds, sum }: Lane, calls: PerfCalls): Lane => ({
  fds,
  sum: advance(sum, combine(fds.map((fd) => calls.read(fd)))),
});

const total = (lanes: readonly Lane[]): Scaled =>
  lanes.reduce(
    (all, { sum }) => ({
      raw: all.raw + sum.raw,
      enabledNs: all.enabledNs + sum.enabledNs,
      runningNs: all.runningNs + sum.runningNs,
      value: all.value + sum.value,
      waitedNs: all.waitedNs + sum.waitedNs,
    }),
    NOTHING_COUNTED,
  );

/** One event of the job: what was counted, what of it was the process's own, and the greatest value reported so far. */
export interface Counter {
  readonly names: readonly string[];
  readonly unit: ResolvedEvent['unit'];
  readonly lanes: readonly Lane[];
  readonly own: readonly Lane[];
  readonly highest: number;
}

/** Reads a counter, and what it was counted for the process itself right after: a value may never shrink by that. */
export function readCounter(counter: Counter, calls: PerfCalls): Counter {
  const lanes = counter.lanes.map((lane) => readLane(lane, calls));
  const own = counter.own.map((lane) => readLane(lane, calls));
  return { ...counter, lanes, own, highest: Math.max(counter.highest, total(lanes).value - total(own).value) };
}

/** What a counter has counted so far, by each of its names. */
export function readingsOf({ names, unit, lanes, own, highest }: Counter): readonly PerfReading[] {
  const all = total(lanes);
  const self = total(own);
  const enabled = all.enabledNs - self.enabledNs;
  const running = all.runningNs - self.runningNs;
  const never = all.enabledNs > 0 && all.runningNs === 0 && all.raw === 0;
  const reading = {
    value: never ? null : unit === 'seconds' ? highest / NS_PER_SECOND : highest,
    scaledShare: never ? 0 : enabled > 0 ? Math.min(1, Math.max(0, running / enabled)) : 1,
    raw: Math.max(0, all.raw - self.raw),
  };
  return names.map((event) => ({ event, ...reading }));
}

/** It keeps what it has come to, and reads no more. */
export function withoutDescriptors(counter: Counter): Counter {
  const blind = (lane: Lane): Lane => ({ ...lane, fds: [] });
  return { ...counter, lanes: counter.lanes.map(blind), own: counter.own.map(blind) };
}

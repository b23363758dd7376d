import { monotonicMs } from '../../base/monotonic';
import type { JobCgroup } from '../../sources/job/job-cgroup';
import { processes } from '../../sources/job/processes';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import type { FootprintEnds } from '../peaks/footprint-ends';
import type { NodeReply } from '../listener/protocol';
import type { TickReadings } from '../processes/tick';
import type { ListenerLink } from '../listener/client';
import type { RunDescription } from '../job/run-description';
import type * as TwoAccounts from '../job/two-accounts';
import { newSeriesBuffer, type SeriesBatch } from '../series/series-buffer';
import type { Settings } from '../../record/settings';
import type * as Cgroup from './cgroup';
import type * as Energy from './energy';
import type * as Gpu from './gpu';
import type * as Network from './network';
import type { FigurePart, JobMetrics, Look, PartContext } from './part';
import type * as Perf from './perf';
import type * as Pss from './pss';

/** All figures of a job beyond its processes' memory and CPU time. */
export interface JobFigures {
  started(rootPid: number): void;
  /** The job's own control group is found. */
  inGroup(found: JobCgroup): void;
  look(atMs: number, readings: TickReadings, cpuTicks: number, link: ListenerLink | null): void;
  node(reply: NodeReply): void;
  /** Asks the node for its figures once more, waiting at most this long, and reads everything for the last time. */
  finish(link: ListenerLink | null, withinMs: number): Promise<void>;
  metrics(): JobMetrics;
  /** What the record charts beside memory and CPU time, as it is now. */
  charted(): JobMetrics;
  notes(): readonly string[];
  footprint(ended: boolean): FootprintEnds | null;
  takeSeries(): SeriesBatch;
  close(): void;
}

const BEFORE_SLOW_PARTS_MS = 5000;
const FIRST_WITHIN_MS = 5000;

interface Left {
  readonly metrics: JobMetrics;
}

/** What a predecessor that had to stop in the middle of the job has left. */
interface Predecessor {
  /** Its state: our metrics are added to its metrics. */
  readonly resumed: Left | null;
  /** Its record, if it left nothing else; the caller joins that with ours (two-accounts.ts). */
  readonly earlier: Left | null;
}

const NOTHING_LEFT: Predecessor = { resumed: null, earlier: null };

/** The figures of one job from now on, added to those that `left.resumed` has. */
export function jobFigures(run: RunDescription, settings: Settings, left: Predecessor = NOTHING_LEFT): JobFigures {
  const series = newSeriesBuffer(processes.metrics);
  const { metrics: before } = left.resumed ?? left.earlier ?? { metrics: {} };
  const context: PartContext = { run, settings, series, begunMs: monotonicMs(), before };
  const parts: FigurePart[] = [];
  const loaded = new Set<string>();
  let cgroup: Cgroup.CgroupFigures | null = null;
  let latest: Look | null = null;
  let asked = false;

  /** A part's code is loaded when there is something to read with it: a short job needs none. */
  function add(name: string, make: () => FigurePart | null): void {
    if (loaded.has(name)) return;
    loaded.add(name);
    const part = make();
    if (part === null) return;
    parts.push(part);
    if (latest !== null) part.look?.(latest);
  }

  function node(reply: NodeReply): void {
    if (reply.charges !== null) add('energy', () => (require('./energy') as typeof Energy).energyFigures());
    if (reply.gpu.length > 0) add('gpu', () => (require('./gpu') as typeof Gpu).gpuFigures(context));
    for (const part of parts) part.node?.(reply);
  }

  // Perf counters must be open before the job starts.
  if (settings.sources.perf?.enabled === true)
    add('perf', () => (require('./perf') as typeof Perf).perfFigures(context));

  return {
    started: (rootPid) => {
      for (const part of parts) part.started?.(rootPid);
    },
    inGroup: (found) => {
      add('cgroup', () => (cgroup = (require('./cgroup') as typeof Cgroup).cgroupFigures(context, found)));
    },
    look: (atMs, readings, cpuTicks, link) => {
      const nowMs = monotonicMs();
      latest = { atMs, nowMs, readings, cpuSeconds: cpuTicks / TICKS_PER_SECOND, link };
      if (readings.counters.size > 0)
        series.add(processes.name, atMs, [
          { metric: 'process_file_bytes', instance: '', value: readings.file },
          { metric: 'process_shmem_bytes', instance: '', value: readings.shmem },
        ]);
      for (const part of parts) part.look?.(latest);
      if (!asked && link !== null) {
        // Charges are differences: the first one counts from this reading.
        asked = true;
        void link.node(FIRST_WITHIN_MS).then((reply) => {
          if (reply !== null) node(reply);
        });
      }
      if (nowMs - context.begunMs < BEFORE_SLOW_PARTS_MS) return;
      add('pss', () => (require('./pss') as typeof Pss).pssFigures(context));
      add('network', () => (require('./network') as typeof Network).networkFigures(context));
    },
    node,
    finish: async (link, withinMs) => {
      for (const part of parts) part.finish?.();
      const reply = await link?.node(withinMs);
      if (reply) node(reply);
    },
    metrics: () => {
      const metrics = Object.assign({}, ...parts.map((part) => part.metrics())) as JobMetrics;
      if (left.resumed === null) return metrics;
      const absolute = new Set(parts.flatMap((part) => (part.absolute === true ? Object.keys(part.metrics()) : [])));
      return (require('../job/two-accounts') as typeof TwoAccounts).withEarlierMetrics(metrics, before, absolute);
    },
    charted: () => Object.assign({}, ...parts.map((part) => part.charted?.() ?? {})) as JobMetrics,
    notes: () => parts.flatMap((part) => part.notes()),
    footprint: (ended) => cgroup?.footprint(ended) ?? null,
    takeSeries: () => series.take(),
    close: () => {
      for (const part of parts) part.close?.();
    },
  };
}

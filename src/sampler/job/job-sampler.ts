import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import { followProcesses, type ClaimRules, type JobProcesses, type TickReadings } from '../processes/job-processes';
import type { DescriptorBudget } from '../../sources/proc/process-files';
import type { StoredSample } from '../node-store/sample-table';
import { newLineage, type Lineage, type LineageTotals } from '../processes/lineage';
import type { ProcessEvent } from '../listener/process-table';
import type { OpenReason } from '../../record/record';
import { markSlackBytes } from '../peaks/slack';
import type { UnknownBounds, UpperResult } from '../peaks/upper-ends';
import {
  newPeaks,
  observe,
  observeExit,
  openEnd,
  resolveAll,
  restorePeaks,
  savePeaks,
  type PeakState,
} from '../peaks/peaks';
import { openImages } from '../series/open-images';
import { addToSeries, copyOfSeries, newSeries, settleSeries, type OpenImage, type Series } from '../series/series';
import { addSums, carriedAway, largest, NO_SUMS, totals, type Counters, type Sums } from '../processes/totals';

/** All that was found out about a job so far. Memory in bytes, CPU in clock ticks. */
export interface Observation {
  readonly peaks: PeakState;
  readonly series: Series;
  readonly startMs: number | null;
  readonly firstSampleMs: number | null;
  readonly lastSampleMs: number | null;
  readonly samples: number;
  readonly longestGapMs: number;
  readonly rssByteMs: number;
  readonly sums: Sums;
  readonly maxProcesses: number;
  readonly maxThreads: number;
  readonly counts: ReturnType<JobProcesses['counts']>;
  /** null: the kernel's events were never heard. */
  readonly lineage: LineageSeen | null;
}

/** What the kernel's events tell of a job. */
export interface LineageSeen {
  readonly totals: LineageTotals;
  readonly upper: (bounds: UnknownBounds) => UpperResult;
  /** See Lineage. */
  readonly replacerFaults: number | null;
  /** Processes that were alive at the last sweep. */
  readonly living: number;
}

export interface JobSampler {
  /** Whether processes of the job are alive. */
  readonly alive: () => boolean;
  /** Sets the first process of the job and when it started. */
  start(rootPid: number, startMs: number): void;
  /** When a process was forked, by what was heard since the last `settle` (µs of the monotonic clock); null: not heard. */
  forkedAt(pid: number): number | null;
  /** `last`: nothing may be left for the next one. */
  tick(atMs: number, scanAll: boolean, last?: boolean): TickReadings;
  /** From now on the kernel's events are heard: give them to `heard`, and each tick to `settle` when all until then are. */
  listen(): void;
  heard(events: readonly ProcessEvent[]): void;
  /** Returns the processes that no fork explains: what becomes of their descendants must be asked for. */
  settle(readings: TickReadings): readonly number[];
  /** When the job's first process started; null: not yet. */
  startMs(): number | null;
  /** CPU time of the job so far, in clock ticks. */
  cpuTicks(): number;
  /** Processes of the job at the last tick. */
  pids(): readonly number[];
  /** Some events are missing. */
  open(reason: OpenReason): void;
  /** No more events will come for now. */
  deafen(reason: OpenReason): void;
  observation(): Observation;
  /** The same, with forked workers that still live counted as what they look like: for a record made now. */
  settled(): Observation;
  /** Samples since the last call. */
  takeSamples(): readonly StoredSample[];
  /** State for a successor process. */
  save(): unknown;
  close(): void;
}

interface Saved {
  readonly peaks: unknown;
  readonly series: Series;
  readonly images: readonly OpenImage[];
  readonly processes: unknown;
  readonly numbers: Numbers;
  readonly carried: Sums;
  readonly before: readonly (readonly [string, Counters])[];
  readonly rootPid: number | null;
  readonly lineage: unknown;
}

interface Numbers {
  startMs: number | null;
  firstSampleMs: number | null;
  lastSampleMs: number | null;
  samples: number;
  longestGapMs: number;
  rssByteMs: number;
  lastRss: number;
  maxProcesses: number;
  maxThreads: number;
}

const KIB = 1024;
const MOST_FATES = 20_000;
const kib = (bytes: number): number => Math.round(bytes / KIB);
const ticksToMs = (ticks: number): number => Math.round((ticks * 1000) / TICKS_PER_SECOND);

/** Follows one job from reading to reading; `saved` continues a predecessor's work. */
export function sampleJob(
  rules: ClaimRules,
  budget: DescriptorBudget,
  largestKept: number,
  saved: unknown = null,
): JobSampler {
  const state = saved as Saved | null;
  const peaks = state === null ? newPeaks() : restorePeaks(state.peaks);
  const series = state === null ? newSeries(0) : state.series;
  const images = openImages(state?.images);
  const numbers: Numbers = state?.numbers ?? {
    startMs: null,
    firstSampleMs: null,
    lastSampleMs: null,
    samples: 0,
    longestGapMs: 0,
    rssByteMs: 0,
    lastRss: 0,
    maxProcesses: 0,
    maxThreads: 0,
  };
  let carried: Sums = state?.carried ?? NO_SUMS;
  let before: ReadonlyMap<string, Counters> = new Map(state?.before ?? []);
  let sums = totals(carried, before);
  if (state !== null) rules.rootPid = state.rootPid;
  const processes = followProcesses(rules, budget, state?.processes ?? null);
  const continued = state?.lineage ?? null;
  let lineage = continued === null ? null : newLineage(rules.precision, continued);
  let living = 0;
  /** No exit event can have been missed: a pid that the lineage holds for living is not someone else's by now. */
  let complete = state === null;
  /** Forked images that have gone, and processes that have ended, until the one meets the other. */
  const departed = new Map<number, string>();
  const fates = new Map<number, boolean>();
  let fresh: StoredSample[] = [];

  function best(quantity: 'rssSwap' | 'footprint'): number {
    const candidate = peaks.best[quantity];
    return candidate === null ? 0 : candidate.certain - candidate.slack;
  }

  function toStored(readings: TickReadings, sums: Sums): StoredSample {
    const ordered = [...readings.processes].sort((a, b) => b.rss - a.rss);
    const others = ordered.slice(largestKept);
    return {
      at: Math.max(0, Math.round(readings.atMs - (numbers.startMs ?? readings.atMs))),
      rss: kib(readings.rss),
      vmem: kib(readings.vmem),
      swap: kib(readings.swap),
      anonymous: kib(readings.anonymous),
      cpu: ticksToMs(sums.cpu),
      processes: readings.counters.size,
      threads: readings.threads,
      read: kib(sums.readBytes),
      written: kib(sums.writtenBytes),
      largest: ordered.slice(0, largestKept).map((process) => ({
        pid: process.pid,
        start: Number(process.id.slice(process.id.indexOf('.') + 1)),
        command: process.command,
        rss: kib(process.rss),
        cpu: ticksToMs(process.cpuTicks),
      })),
      othersRss: kib(others.reduce((sum, process) => sum + process.rss, 0)),
      othersCpu: ticksToMs(others.reduce((sum, process) => sum + process.cpuTicks, 0)),
    };
  }

  /** A forked image has gone (`image`), or its process is known to have ended (`executed`): one waits for the other. */
  function decide(
    decided: Map<string, boolean>,
    pid: number,
    image: string | undefined,
    executed: boolean | undefined,
  ): void {
    if (image !== undefined && executed !== undefined) {
      decided.set(image, !executed);
      departed.delete(pid);
      fates.delete(pid);
    } else if (image !== undefined) departed.set(pid, image);
    else if (executed !== undefined) fates.set(pid, executed);
  }

  /** What becomes of forked images decides on the peaks, the series and the integral alike. */
  function resolveImages(decided: ReadonlyMap<string, boolean>): void {
    resolveAll(peaks, decided);
    settleSeries(series, decided);
    numbers.rssByteMs += images.settle(decided);
  }

  function settle(readings: TickReadings): readonly number[] {
    if (lineage === null) return [];
    const { ended: gone, adopted } = lineage.settle(readings.sweep);
    const decided = new Map<string, boolean>();
    for (const { pid, executed, account } of gone) {
      decide(decided, pid, departed.get(pid), executed);
      if (account === null || account.rssBytes === 0) continue;
      const slack = markSlackBytes(rules.precision, account.threads);
      observeExit(
        peaks,
        { rss: account.rssBytes, vmem: account.vmBytes, slack, command: account.command.replace(/\p{Cc}/gu, '?') },
        readings.atMs,
      );
    }
    for (const [pid, image] of readings.departed) decide(decided, pid, image, fates.get(pid));
    resolveImages(decided);
    // Fates are needed only until the next tick has found out who has gone.
    if (fates.size > MOST_FATES) for (const pid of [...fates.keys()].slice(0, MOST_FATES / 2)) fates.delete(pid);
    let own = 0;
    living = 0;
    for (const [id, counters] of readings.counters) {
      if (!lineage.isLiving(Number.parseInt(id, 10))) continue;
      living++;
      own += counters.cpu - counters.childCpu;
    }
    const ended = (lineage.totals().sums.cpuNs / 1e9) * TICKS_PER_SECOND;
    sums = largest(sums, { ...NO_SUMS, cpu: own + ended });
    rules.told = new Set(complete ? lineage.living() : []);
    return adopted;
  }

  function observation(): Observation {
    return {
      peaks,
      series,
      startMs: numbers.startMs,
      firstSampleMs: numbers.firstSampleMs,
      lastSampleMs: numbers.lastSampleMs,
      samples: numbers.samples,
      longestGapMs: numbers.longestGapMs,
      rssByteMs: numbers.rssByteMs,
      sums,
      maxProcesses: numbers.maxProcesses,
      maxThreads: numbers.maxThreads,
      counts: processes.counts(),
      lineage: lineage === null ? null : lineageSeen(lineage),
    };
  }

  function lineageSeen(followed: Lineage): LineageSeen {
    const { upper } = followed;
    return {
      totals: followed.totals(),
      upper: (bounds) => upper.result(bounds),
      replacerFaults: followed.replacerFaults(),
      living,
    };
  }

  return {
    alive: () => processes.tracked.size > 0,
    start: (rootPid, startMs) => {
      rules.rootPid = rootPid;
      lineage?.root(rootPid);
      numbers.startMs = startMs;
      series.startMs = startMs;
    },
    forkedAt: (pid) => lineage?.forkedAt(pid) ?? null,
    tick: (atMs, scanAll, last = false) => {
      const readings = processes.tick(
        atMs,
        scanAll,
        (anonymous, rssSwap) => anonymous > best('footprint') || rssSwap > best('rssSwap'),
        last,
      );
      observe(peaks, readings.memory, atMs);
      resolveImages(new Map(readings.resolved));
      if (readings.execs > 0) openEnd(peaks, 'exec');
      if (readings.fallenMarks > 0) openEnd(peaks, 'fallen-mark');
      if (readings.failedReads > 0) openEnd(peaks, 'failed-read');
      carried = addSums(carried, carriedAway(before, readings.counters, readings.heirs));
      before = readings.counters;
      sums = largest(sums, totals(carried, before));
      if (readings.counters.size === 0 && numbers.samples === 0) return readings;
      const gap = numbers.lastSampleMs === null ? 0 : atMs - numbers.lastSampleMs;
      const pending = readings.memory.some((reading) => reading.pending);
      const open = images.see(readings.memory, new Set(pending ? processes.workers() : []), gap);
      if (numbers.lastSampleMs !== null) {
        numbers.longestGapMs = Math.max(numbers.longestGapMs, gap);
        numbers.rssByteMs += ((readings.rss + numbers.lastRss) / 2) * gap;
      }
      numbers.firstSampleMs ??= atMs;
      numbers.lastSampleMs = atMs;
      numbers.lastRss = readings.rss;
      numbers.samples++;
      numbers.maxProcesses = Math.max(numbers.maxProcesses, readings.counters.size);
      numbers.maxThreads = Math.max(numbers.maxThreads, readings.threads);
      addToSeries(series, atMs, readings.rss, open);
      fresh.push(toStored(readings, sums));
      return readings;
    },
    listen: () => {
      if (lineage === null) {
        lineage = newLineage(rules.precision);
        if (rules.rootPid !== null) lineage.root(rules.rootPid);
      } else lineage.again();
      rules.eventsTell = true;
    },
    heard: (events) => {
      lineage?.events(events);
    },
    settle,
    startMs: () => numbers.startMs,
    cpuTicks: () => sums.cpu,
    pids: () => [...processes.tracked.values()].map(({ pid }) => pid),
    open: (reason) => {
      if (reason === 'lost-records') complete = false;
      lineage?.open(reason);
    },
    deafen: (reason) => {
      complete = false;
      rules.told = new Set();
      lineage?.open(reason);
      rules.eventsTell = false;
    },
    observation,
    settled: () => {
      const workers = new Map(processes.workers().map((image) => [image, true]));
      const now = restorePeaks(savePeaks(peaks));
      resolveAll(now, workers);
      const settled = copyOfSeries(series);
      settleSeries(settled, workers);
      const rssByteMs = numbers.rssByteMs + images.heldBy(workers.keys());
      return { ...observation(), peaks: now, series: settled, rssByteMs };
    },
    takeSamples: () => {
      const samples = fresh;
      fresh = [];
      return samples;
    },
    save: (): Saved => ({
      peaks: savePeaks(peaks),
      series,
      images: images.save(),
      processes: processes.save(),
      numbers,
      carried,
      before: [...before],
      rootPid: rules.rootPid,
      lineage: lineage?.save() ?? null,
    }),
    close: () => {
      processes.close();
    },
  };
}

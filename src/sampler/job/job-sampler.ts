import { join } from 'node:path';
import { readText } from '../../sources/files';
import type { JobCgroup } from '../../sources/job/job-cgroup';
import { TICKS_PER_SECOND } from '../../sources/proc/clock';
import { mergedPages } from '../../sources/proc/ksm';
import type { DescriptorBudget } from '../../sources/proc/process-files';
import { boolean, map, nullable, number, object, type ValueOf } from '../../base/shape';
import { NO_SAMPLING, SAMPLING, type Observation, type Sampling } from './observation';
import type { StoredSample } from '../node-store/sample-table';
import { toStored } from './stored-sample';
import type { ProcessEvent } from '../listener/process-table';
import {
  copyOfPeaks,
  lowerEnd,
  newPeaks,
  observe,
  observeExit,
  openEnd,
  resolveAll,
  restorePeaks,
  SAVED_PEAKS,
  savePeaks,
  type PeakState,
} from '../peaks/peaks';
import { markSlackBytes } from '../peaks/slack';
import { ForkedImages, SAVED_IMAGES } from '../processes/forked-images';
import { JobProcesses, SAVED_PROCESSES, type ClaimRules } from '../processes/job-processes';
import type { Sweep } from '../peaks/upper-ends';
import { Lineage, SAVED_LINEAGE } from '../processes/lineage';
import type { TickReadings } from '../processes/tick';
import {
  addSums,
  largest,
  NO_SUMS,
  SAVED_COUNTERS,
  SAVED_SUMS,
  sumsOfGone,
  totals,
  type Counters,
  type Sums,
} from '../processes/totals';
import type { OpenReason } from '../../record/record';
import {
  addOthers,
  addToSeries,
  copyOfSeries,
  newSeries,
  SAVED_SERIES,
  settleSeries,
  type Series,
} from '../series/series';

/** What a successor process gets. */
export const SAVED_SAMPLER = object({
  peaks: SAVED_PEAKS,
  series: SAVED_SERIES,
  images: SAVED_IMAGES,
  processes: SAVED_PROCESSES,
  sampling: SAMPLING,
  lastRss: number(0),
  lastStopped: boolean,
  gone: SAVED_SUMS,
  before: map(SAVED_COUNTERS, { key: /^\d+\.\d+$/, what: 'process', most: 2 ** 22 }),
  lineage: nullable(SAVED_LINEAGE),
});
type SavedSampler = ValueOf<typeof SAVED_SAMPLER>;

/** Follows one job from reading to reading. */
export class JobSampler {
  private readonly peaks: PeakState;
  private readonly series: Series;
  private readonly images: ForkedImages;
  private readonly processes: JobProcesses;
  private readonly sampling: { -readonly [Name in keyof Sampling]: Sampling[Name] };
  private lastRss: number;
  private lastStopped: boolean;
  /** `cgroup.events` of the group that Grid Engine made for the job, if of version 2. */
  private groupEvents: string | null = null;
  /** Processes of the last tick whose I/O could not be read. */
  private unreadIo: ReadonlySet<string> = new Set();
  /** Figures of processes that have gone, as far as no living process has taken them over. */
  private gone: Sums;
  /** Counters of the last tick. */
  private before: ReadonlyMap<string, Counters>;
  private sums: Sums;
  private lineage: Lineage | null;
  private living = 0;
  /** No exit event can have been missed: a pid that the lineage takes for alive has not been re-used. */
  private eventsComplete: boolean;
  /**
   * Sweeps still to be settled, oldest first. On a busy node the events of several arrive at once: an exit after the
   * second sweep must not be settled with the first, or the second's reading would seem a process without a fork.
   */
  private unsettled: Sweep[] = [];
  /** Samples that `takeSamples` has not returned yet. */
  private fresh: StoredSample[] = [];

  /** `saved` continues a predecessor's work; `elsewhere`: see Lineage. */
  constructor(
    private readonly rules: ClaimRules,
    budget: DescriptorBudget,
    private readonly largestKept: number,
    saved: SavedSampler | null = null,
    private readonly elsewhere = 0,
  ) {
    this.peaks = saved === null ? newPeaks() : restorePeaks(saved.peaks);
    this.series = saved === null ? newSeries(0) : copyOfSeries(saved.series);
    this.images = new ForkedImages(saved?.images);
    this.sampling = { ...(saved?.sampling ?? NO_SAMPLING) };
    this.lastRss = saved?.lastRss ?? 0;
    this.lastStopped = saved?.lastStopped ?? false;
    this.gone = saved?.gone ?? NO_SUMS;
    this.before = new Map(Object.entries(saved?.before ?? {}));
    this.sums = totals(this.gone, this.before);
    this.processes = new JobProcesses(rules, budget, saved?.processes);
    this.lineage = saved?.lineage ? new Lineage(rules.precision, saved.lineage) : null;
    this.eventsComplete = saved === null;
  }

  /** Whether processes of the job are alive. */
  alive(): boolean {
    return this.processes.tracked.size > 0;
  }

  /** Whether processes of the job are ending; to be called when the last tick is settled. */
  dying(): boolean {
    return this.processes.dying();
  }

  /** Sets the first process of the job and when it started. */
  start(rootPid: number, startMs: number): void {
    this.processes.rootPid = rootPid;
    this.lineage?.setRoot(rootPid);
    this.sampling.startMs = startMs;
    this.series.startMs = startMs;
  }

  /** From now on every process of this control group is the job's. */
  inGroup({ directories }: JobCgroup): void {
    if (directories.version === 2) this.groupEvents = join(directories.directory, 'cgroup.events');
    this.processes.ownCgroup = directories.version === 2 ? directories.directory : directories.memory;
  }

  /** When the job's first process started; null: not yet. */
  startMs(): number | null {
    return this.sampling.startMs;
  }

  /** When a process was forked, by the events since the last `settle` (µs of the monotonic clock); null: not heard. */
  forkedAt(pid: number): number | null {
    return this.lineage?.forkedAt(pid) ?? null;
  }

  /**
   * Reads the job (`atMs`: ms since the epoch, by a clock that nobody sets meanwhile). `last`: no tick follows, so
   * everything is read.
   */
  tick(atMs: number, scanAll: boolean, { last = false }: { readonly last?: boolean } = {}): TickReadings {
    const { peaks, sampling } = this;
    const rising = (anonymous: number, rssSwap: number): boolean =>
      anonymous > lowerEnd(peaks, 'footprint') || rssSwap > lowerEnd(peaks, 'rssSwap');
    const readings = this.processes.tick(atMs, scanAll, rising, last);
    const { counters, memory } = readings;
    const { precision, merged = mergedPages } = this.rules;
    observe(peaks, memory, atMs, () => merged() * precision.pageSize);
    this.resolveImages(new Map(readings.resolved));
    if (this.processes.hearsEvents) this.unsettled.push(readings.sweep);
    if (readings.execs > 0) openEnd(peaks, 'exec');
    if (readings.fallenMarks > 0) openEnd(peaks, 'fallen-mark');
    if (readings.failedReads > 0) openEnd(peaks, 'failed-read');
    this.followUnreadIo(counters);
    this.gone = addSums(this.gone, sumsOfGone(this.before, counters, readings.ancestors));
    this.before = counters;
    this.sums = largest(this.sums, totals(this.gone, counters));
    if (counters.size > 0 || sampling.samples > 0) this.takeSample(readings, readings.stopped || this.isFrozen());
    return readings;
  }

  /** From now on the kernel's events are heard: pass them to `heard`, and each tick to `settle` after all before it. */
  listen(): void {
    const { rootPid } = this.processes;
    if (this.lineage === null) {
      this.lineage = new Lineage(this.rules.precision, null, this.elsewhere);
      if (rootPid !== null) this.lineage.setRoot(rootPid);
    } else this.lineage.again();
    this.processes.hearsEvents = true;
  }

  heard(events: readonly ProcessEvent[]): void {
    this.lineage?.addEvents(events);
  }

  /** Returns the pids that no fork explains: the listener must be asked to follow them and their descendants. */
  settle(readings: TickReadings): readonly number[] {
    const { lineage, images } = this;
    if (lineage === null) return [];
    const at = this.unsettled.indexOf(readings.sweep);
    const { ended, adopted } = lineage.settle(readings.sweep, this.unsettled[at + 1]?.begin);
    this.unsettled = this.unsettled.slice(at + 1);
    // It may be the job's: a set-user-ID program keeps the job's group.
    if (readings.strangers.some((pid) => !lineage.isLiving(pid))) this.open('unknown-origin');
    const fates = new Map<string, boolean>();
    for (const { pid, executed, account } of ended) {
      const image = images.processEnded(pid, executed);
      if (image !== null) fates.set(image, !executed);
      if (account === null || account.rssBytes === 0) continue;
      const slack = markSlackBytes(this.rules.precision, account.threads);
      const command = account.command.replace(/\p{Cc}/gu, '?');
      observeExit(this.peaks, { rss: account.rssBytes, vmem: account.vmBytes, slack, command }, readings.atMs);
    }
    for (const [pid, image] of readings.departed) {
      const counts = images.imageGone(pid, image);
      if (counts !== null) fates.set(image, counts);
    }
    this.resolveImages(fates);
    images.dropOldFates();
    this.sumUpLiving(lineage, readings);
    this.processes.lineage = this.eventsComplete ? lineage : null;
    return adopted;
  }

  /** Adds other amounts that the record charts, as they are at `atMs`. */
  chart(atMs: number, amounts: Readonly<Record<string, number>>): void {
    if (this.sampling.samples > 0) addOthers(this.series, atMs, { amounts });
  }

  /** CPU time of the job so far, in clock ticks. */
  cpuTicks(): number {
    return this.sums.cpu;
  }

  /** Processes of the job at the last tick. */
  pids(): readonly number[] {
    return [...this.processes.tracked.keys()];
  }

  /** Leaves the upper bounds open for this reason: some events are missing. */
  open(reason: OpenReason): void {
    if (reason === 'lost-records') this.eventsComplete = false;
    this.lineage?.upper.open(reason);
  }

  /** No more events will come for now: the listener is gone. */
  listenerLost(): void {
    this.eventsComplete = false;
    this.processes.lineage = null;
    this.processes.hearsEvents = false;
    this.unsettled = [];
    this.lineage?.upper.open('listener-lost');
  }

  observation(): Observation {
    const { lineage } = this;
    return {
      ...this.sampling,
      ioLost: this.isIoLost(),
      peaks: this.peaks,
      series: this.series,
      sums: this.sums,
      counts: { ...this.processes.counts },
      lineage:
        lineage === null
          ? null
          : {
              totals: lineage.totals(),
              upper: (bounds) => lineage.upper.result(bounds),
              replacerFaults: lineage.upper.replacerFaults(),
              living: this.living,
            },
    };
  }

  /** The observation for a record made now: living forked images that look like workers are counted as such. */
  settled(): Observation {
    const workers = new Map(this.processes.workers().map((image) => [image, true]));
    const peaks = copyOfPeaks(this.peaks);
    resolveAll(peaks, workers);
    const series = copyOfSeries(this.series);
    settleSeries(series, workers);
    const rssByteMs = this.sampling.rssByteMs + this.images.heldBy(workers.keys());
    return { ...this.observation(), peaks, series, rssByteMs };
  }

  /** Samples since the last call. */
  takeSamples(): readonly StoredSample[] {
    const samples = this.fresh;
    this.fresh = [];
    return samples;
  }

  save(): SavedSampler {
    return {
      peaks: savePeaks(this.peaks),
      series: this.series,
      images: this.images.save(),
      processes: this.processes.save(),
      sampling: { ...this.sampling },
      lastRss: this.lastRss,
      lastStopped: this.lastStopped,
      gone: this.gone,
      before: Object.fromEntries(this.before),
      lineage: this.lineage?.save() ?? null,
    };
  }

  close(): void {
    this.processes.close();
  }

  /** Applies the fates of forked images to the peaks, the series and the memory integral. */
  private resolveImages(fates: ReadonlyMap<string, boolean>): void {
    resolveAll(this.peaks, fates);
    settleSeries(this.series, fates);
    this.sampling.rssByteMs += this.images.settle(fates);
  }

  /** Who waits for a process gets its I/O, too. */
  private followUnreadIo(now: ReadonlyMap<string, Counters>): void {
    for (const id of this.unreadIo)
      if (!now.has(id) && !now.has(this.before.get(id)?.parent ?? '')) this.sampling.ioLost = true;
    this.unreadIo = this.processes.unreadIo();
  }

  private isIoLost(): boolean {
    return this.sampling.ioLost || this.unreadIo.size > 0;
  }

  /** Whether the freezer suspends the job, as Open Cluster Scheduler does under systemd: its processes seem to sleep. */
  private isFrozen(): boolean {
    return this.groupEvents !== null && /^frozen 1$/m.test(readText(this.groupEvents) ?? '');
  }

  private takeSample(readings: TickReadings, stopped: boolean): void {
    const { sampling } = this;
    const { atMs, rss, memory, counters } = readings;
    const gap = Math.max(0, atMs - (sampling.lastSampleMs ?? atMs));
    const pending = memory.some((reading) => reading.pending);
    const open = this.images.see(memory, new Set(pending ? this.processes.workers() : []), gap);
    sampling.longestGapMs = Math.max(sampling.longestGapMs, gap);
    sampling.rssByteMs += ((rss + this.lastRss) / 2) * gap;
    sampling.suspendedMs += ((Number(stopped) + Number(this.lastStopped)) / 2) * gap;
    sampling.firstSampleMs ??= atMs;
    sampling.lastSampleMs = atMs;
    sampling.samples++;
    sampling.maxProcesses = Math.max(sampling.maxProcesses, counters.size);
    sampling.maxThreads = Math.max(sampling.maxThreads, readings.threads);
    this.lastRss = rss;
    this.lastStopped = stopped;
    addToSeries(this.series, atMs, rss, open);
    const { cpu, readBytes, writtenBytes } = this.sums;
    addOthers(this.series, atMs, {
      amounts: { swap_bytes: readings.swap },
      counters: {
        cpu_cores: cpu / TICKS_PER_SECOND,
        read_bytes_per_second: readBytes,
        written_bytes_per_second: writtenBytes,
      },
    });
    const { startMs } = sampling;
    this.fresh.push(toStored(readings, { sums: this.sums, ioLost: this.isIoLost(), startMs }, this.largestKept));
  }

  /**
   * Counts the processes that are alive by the events, and raises the CPU time to theirs plus the exit records', the I/O
   * to the exit records': readings of I/O don't tell that of waited-for children apart.
   */
  private sumUpLiving(lineage: Lineage, readings: TickReadings): void {
    let own = 0;
    this.living = 0;
    for (const [id, counters] of readings.counters) {
      if (!lineage.isLiving(Number.parseInt(id, 10))) continue;
      this.living++;
      own += counters.cpu - counters.childCpu;
    }
    const { cpuNs, readChars, writeChars, readBytes, writeBytes } = lineage.totals().sums;
    this.sums = largest(this.sums, {
      cpu: own + (cpuNs / 1e9) * TICKS_PER_SECOND,
      readChars,
      writtenChars: writeChars,
      readBytes,
      writtenBytes: writeBytes,
    });
  }
}

import { KIB } from '../../base/units';
import { memoryOfAnyThread } from '../../sources/proc/process-files';
import { isDead, type Stat } from '../../sources/proc/stat';
import type { StatusMemory } from '../../sources/proc/status';
import { monotonicUs } from '../../sources/proc/clock';
import type { MemoryReading } from '../peaks/peaks';
import { markSlackBytes, slackBytes } from '../peaks/slack';
import type { Sweep, SweepReading } from '../peaks/upper-ends';
import { carriesGroup, commandName, type JobProcess, type ProcessSample } from './job-process';
import type { JobProcesses } from './job-processes';
import type { Counters } from './totals';

/** What one tick saw. Memory in bytes. */
export interface TickReadings {
  readonly atMs: number;
  readonly memory: readonly MemoryReading[];
  readonly processes: readonly ProcessSample[];
  readonly counters: ReadonlyMap<string, Counters>;
  /** Ancestors of processes found gone, read again after that: by then they include the children they waited for. */
  readonly ancestors: ReadonlyMap<string, Counters>;
  readonly threads: number;
  /** Plain sums of this tick: what a reader of `top` would have seen. */
  readonly rss: number;
  readonly vmem: number;
  readonly swap: number;
  readonly anonymous: number;
  readonly file: number;
  readonly shmem: number;
  /** Images whose fate became known: true when they never executed anything or had memory of their own, and so count. */
  readonly resolved: readonly (readonly [string, boolean])[];
  /** Pid and image of forked images that have gone, if the kernel's events will say whether they executed anything. */
  readonly departed: readonly (readonly [number, string])[];
  /** The same readings for the upper bounds. */
  readonly sweep: Sweep;
  readonly execs: number;
  readonly fallenMarks: number;
  readonly failedReads: number;
  /** See JobProcesses. */
  readonly strangers: readonly number[];
  /** The job has processes, and none of them has run since the tick before. */
  readonly asleep: boolean;
  /** All processes of the job are stopped by a signal, as Grid Engine suspends a job. */
  readonly stopped: boolean;
}

/**
 * One tick's readings while they are made: each process is read in two sweeps, and in a third one if a peak would rise,
 * since memory that passes from one process to another between two readings would count twice.
 */
export class Tick {
  private readonly begin = monotonicUs();
  private readonly memory: MemoryReading[] = [];
  /** The processes of `memory`. */
  private readonly read: JobProcess[] = [];
  private readonly processes: ProcessSample[] = [];
  private readonly counters = new Map<string, Counters>();
  private readonly gone = new Map<string, JobProcess>();
  private readonly resolved: (readonly [string, boolean])[] = [];
  private readonly departed: (readonly [number, string])[] = [];
  private readonly swept: SweepReading[] = [];
  private readonly sums = { rss: 0, vmem: 0, swap: 0, anonymous: 0, file: 0, shmem: 0, threads: 0 };
  private execs = 0;
  private fallenMarks = 0;
  private failedReads = 0;
  /** Processes that have not run since the tick before. */
  private resting = 0;
  private stopped = 0;
  /** Living processes that are stopped neither by a signal nor by a tracer. */
  private going = 0;
  private readonly pageSize: number;

  constructor(
    private readonly job: JobProcesses,
    private readonly atMs: number,
  ) {
    this.pageSize = job.rules.precision.pageSize;
  }

  /** Whether the process has not run since its complete reading, which then stands in for the first sweep's. */
  isStillAsleep(process: JobProcess): boolean {
    const { files, rest } = process;
    if (rest === null || !process.mayRest()) return false;
    const at = monotonicUs();
    if (files.ran() !== rest.ran) return false;
    const { pid, forkedNoExec, image, rss, vmem } = rest.sweep;
    this.swept.push({ pid, at, forkedNoExec, image, rss, vmem, asleep: true });
    return true;
  }

  /** First sweep. */
  readFirst(process: JobProcess): void {
    const { files } = process;
    process.firstRss = 0;
    process.firstVmem = 0;
    if (process.presumedAsleep) return;
    const statm = files.statm();
    if (statm === null) return;
    // No address space: a zombie, or a first thread that has exited.
    const status = statm.size === 0 && process.threads > 1 ? this.memoryOfAnyThread(process) : null;
    process.firstRss = status === null ? statm.resident * this.pageSize : status.vmRss * KIB;
    process.firstVmem = status === null ? statm.size * this.pageSize : status.vmSize * KIB;
  }

  /** Second sweep: everything else. */
  readSecond(process: JobProcess): void {
    if (process.presumedAsleep && this.takeResting(process)) return;
    const { files } = process;
    const at = monotonicUs();
    process.rest = null;
    // Before anything else is read: unless the process runs after this, the readings below stay true.
    const ran = process.sleeps && process.threads === 1 ? files.ran() : null;
    // It has not run since its last reading: both sweeps saw the same pages.
    const rested = ran !== null && ran === process.ran;
    process.ran = ran;
    const stat = this.readStat(process);
    if (stat === null) return;
    const counters = this.takeCounters(process, stat);
    const status = this.readStatus(process, stat);
    if (status === null) return;
    if (process.pending && stat.forkedNoExec) {
      const parentMark = this.job.tracked.get(stat.ppid)?.rssMark || Infinity;
      process.noteWork(stat, status, this.atMs, this.pageSize, parentMark);
    }
    const sweep = this.takeMarks(process, stat, status, at);
    const program = this.followProgram(process, stat, status);
    process.sleeps = stat.state === 'S';
    if (process.shared) {
      // Here a process that has just ended no longer shares anything either: it counts from its next reading on.
      if (process.firstSeenMs !== this.atMs) process.shared = this.job.isCountedElsewhere(process.pid, stat);
      return;
    }
    const reading = this.takeMemory(process, status, program === 'new');
    const sample = this.takeSample(process, stat, status, program === 'new' ? null : reading);
    const whole = process.sleeps && !process.pending && program === 'same' && stat.threads === 1;
    if (rested && whole) {
      process.rest = { ran, reading, sweep, counters, sample, status, ticks: 0 };
      this.resting++;
    }
    if (process.pending && !process.isWorker()) return;
    this.addToSums(sample, reading.anonymous, status);
  }

  /**
   * The tick's readings. `rising` says whether sums of anonymous memory and of RSS + swap would raise a maximum: then both
   * are read once more and the smaller readings taken.
   */
  finish(rising: (anonymous: number, rssSwap: number) => boolean): TickReadings {
    let anonymous = 0;
    let rssSwap = 0;
    for (const reading of this.memory) {
      anonymous += reading.anonymous;
      rssSwap += reading.rssSwap;
    }
    const { counters, processes, resolved, departed, execs, fallenMarks, failedReads } = this;
    return {
      atMs: this.atMs,
      memory: rising(anonymous, rssSwap)
        ? this.memory.map((reading, index) => this.readThird(reading, index))
        : this.memory,
      processes,
      counters,
      ancestors: this.readAncestors(),
      ...this.sums,
      resolved,
      departed,
      sweep: { begin: this.begin, readings: this.swept },
      execs,
      fallenMarks,
      failedReads,
      strangers: this.job.strangers,
      asleep: this.resting > 0 && this.resting === counters.size && this.gone.size === 0,
      stopped: this.stopped > 0 && this.going === 0,
    };
  }

  /** Third sweep: the smaller of two readings of the figures that the first sweep doesn't read. */
  private readThird(reading: MemoryReading, index: number): MemoryReading {
    const process = this.read[index];
    const again =
      process === undefined
        ? null
        : (process.files.memory() ?? (process.threads > 1 ? this.memoryOfAnyThread(process) : null));
    if (again === null) return { ...reading, anonymous: 0, rssSwap: 0 };
    return {
      ...reading,
      anonymous: Math.min(reading.anonymous, (again.rssAnon + again.vmSwap) * KIB),
      rssSwap: Math.min(reading.rssSwap, (again.vmRss + again.vmSwap) * KIB),
    };
  }

  /** Re-uses the last reading of a process that has not run; false: it must be read after all. */
  private takeResting(process: JobProcess): boolean {
    const { files, rest } = process;
    const statm = rest === null ? null : files.statm();
    if (rest === null || !statm?.size) return false;
    rest.ticks++;
    this.resting++;
    this.going++;
    let { reading, sample } = rest;
    // A sleeping process itself can only lose pages: the kernel may reclaim them.
    const lost = reading.rss - statm.resident * this.pageSize;
    // Others have given it pages: who shares its address space (CLONE_VM), who writes into it, the kernel (huge pages).
    if (lost < 0) process.rest = null;
    if (lost > 0) {
      const rss = reading.rss - lost;
      const rssSwap = Math.max(0, reading.rssSwap - lost);
      reading = { ...reading, rss, rssSwap, anonymous: Math.max(0, reading.anonymous - lost) };
      sample = { ...sample, rss };
    }
    this.counters.set(process.id, rest.counters);
    this.memory.push(reading);
    this.read.push(process);
    this.processes.push(sample);
    this.sums.threads++;
    this.addToSums(sample, reading.anonymous, rest.status);
    return true;
  }

  /** null: the process has gone, or can't be read, which is noted. */
  private readStat(process: JobProcess): Stat | null {
    const { files } = process;
    const stat = files.stat() ?? files.reopen().stat();
    if (stat?.startTicks === process.startTicks) return stat;
    if (stat === null && files.exists()) this.takeUnread(process);
    else this.takeGone(process);
    return null;
  }

  /** null: it can't be read, which is noted. */
  private readStatus(process: JobProcess, stat: Stat): StatusMemory | null {
    const leaderGone = (isDead(stat) || stat.exiting) && stat.threads > 1;
    const status = leaderGone ? this.memoryOfAnyThread(process) : process.files.memory();
    if (status === null) this.takeUnreadable(process, stat);
    return status;
  }

  private takeGone(process: JobProcess): void {
    this.gone.set(process.id, process);
    if (process.pending && !process.shared) {
      if (this.job.hearsEvents && !this.job.countsAnyway(process)) this.departed.push([process.pid, process.imageId]);
      else this.resolved.push([process.imageId, process.isWorker()]);
    }
    this.job.forget(process);
  }

  /** It is there, but no descriptor was free. Taken for gone, it would count twice once it can be read again. */
  private takeUnread(process: JobProcess): void {
    this.failedReads++;
    this.going++;
    if (process.counters !== null) this.counters.set(process.id, process.counters);
  }

  private takeCounters(process: JobProcess, stat: Stat): Counters {
    const counters = this.job.countersOf(process, stat);
    this.counters.set(process.id, counters);
    process.counters = counters;
    process.parent = counters.parent;
    process.threads = stat.threads;
    this.sums.threads += stat.threads;
    if (stat.state === 'T') this.stopped++;
    // 't': its tracer has stopped it, and may itself be stopped (strace, when a job is suspended).
    else if (stat.state !== 't' && (!isDead(stat) || stat.threads > 1)) this.going++;
    return counters;
  }

  private takeUnreadable(process: JobProcess, before: Stat): void {
    // The process may have begun to exit since: then its memory goes before it is a zombie.
    const stat = process.files.stat();
    if (stat?.startTicks !== before.startTicks) return;
    if (!isDead(stat) && !stat.exiting) this.failedReads++;
    // A zombie still shows whether it ever executed anything.
    else if (process.pending) {
      if (!process.shared) this.resolved.push([process.imageId, stat.forkedNoExec || this.job.countsAnyway(process)]);
      process.pending = false;
    }
  }

  private takeMarks(process: JobProcess, stat: Stat, status: StatusMemory, at: number): SweepReading {
    const { forkedNoExec, image } = stat;
    const rss = status.vmHwm * KIB + markSlackBytes(this.job.rules.precision, stat.threads);
    const ownMemory = forkedNoExec && this.job.countsAnyway(process);
    const sweep = {
      pid: process.pid,
      at,
      forkedNoExec,
      ownMemory,
      image,
      rss,
      vmem: status.vmPeak * KIB,
      asleep: false,
    };
    this.swept.push(sweep);
    return sweep;
  }

  /** Notes whether the process runs another program than at its last reading; 'executing': it may be about to. */
  private followProgram(process: JobProcess, stat: Stat, status: StatusMemory): 'same' | 'new' | 'executing' {
    const { precision, group } = this.job.rules;
    const mark = status.vmHwm * KIB;
    const fell = mark + markSlackBytes(precision, stat.threads) < process.rssMark;
    // In the middle of an exec the stack has no address yet: the previous image may have been read as 0.
    const changed = stat.image !== 0 && stat.image !== process.imageMark && (process.imageMark !== 0 || fell);
    const executed = process.pending && !stat.forkedNoExec;
    let executing = false;
    if (executed || changed) {
      if (!process.pending) this.execs++;
      else {
        if (!process.shared) this.resolved.push([process.imageId, this.job.countsAnyway(process)]);
        // The shepherd's child may have been seen before it had taken on the job's group.
        if (process.byTree && !process.byGroup && carriesGroup(process.files, group)) {
          process.byGroup = true;
          this.job.counts.treeOnly--;
        }
      }
      process.beginImage(commandName(stat.comm, process.files.executable()));
    } else {
      executing = stat.image === 0 && process.imageMark !== 0;
      // Part of this reading may be of the previous program.
      if (fell) executing ||= stat.image !== (process.files.stat()?.image ?? 0);
      if (fell && !executing) this.fallenMarks++;
    }
    if (!executing) process.imageMark = stat.image;
    process.rssMark = mark;
    return executed || changed ? 'new' : executing ? 'executing' : 'same';
  }

  private takeMemory(process: JobProcess, status: StatusMemory, isNew: boolean): MemoryReading {
    const { precision } = this.job.rules;
    const reading = {
      id: process.imageId,
      // The first sweep may have read the previous program: then this one was not there at both sweeps.
      rss: isNew ? 0 : Math.min(status.vmRss * KIB, process.firstRss),
      rssSwap: (status.vmRss + status.vmSwap) * KIB,
      vmem: isNew ? 0 : Math.min(status.vmSize * KIB, process.firstVmem),
      anonymous: (status.rssAnon + status.vmSwap) * KIB,
      rssMark: status.vmHwm * KIB,
      vmemMark: status.vmPeak * KIB,
      slack: slackBytes(precision, process.threads),
      markSlack: markSlackBytes(precision, process.threads),
      pending: process.pending,
      command: process.command,
    };
    this.memory.push(reading);
    this.read.push(process);
    return reading;
  }

  /** `reading` null: the program is new, and only the second sweep has read it. */
  private takeSample(
    process: JobProcess,
    stat: Stat,
    status: StatusMemory,
    reading: MemoryReading | null,
  ): ProcessSample {
    const rss = reading === null ? status.vmRss * KIB : reading.rss;
    const vmem = reading === null ? status.vmSize * KIB : reading.vmem;
    const { id, pid, command } = process;
    const sample = { id, pid, command, rss, vmem, cpuTicks: stat.cpuTicks };
    this.processes.push(sample);
    return sample;
  }

  private addToSums(sample: ProcessSample, anonymous: number, status: StatusMemory): void {
    const { sums } = this;
    sums.rss += sample.rss;
    sums.vmem += sample.vmem;
    sums.swap += status.vmSwap * KIB;
    sums.anonymous += anonymous;
    sums.file += status.rssFile * KIB;
    sums.shmem += status.rssShmem * KIB;
  }

  private readAncestors(): ReadonlyMap<string, Counters> {
    const ancestors = new Map<string, Counters>();
    const seen = new Set<string>();
    for (const process of this.gone.values())
      for (let id = process.parent; id !== null && !seen.has(id);) {
        seen.add(id);
        const ancestor = this.job.find(id);
        const stat = ancestor?.files.stat() ?? null;
        if (ancestor !== undefined && stat?.startTicks === ancestor.startTicks)
          ancestors.set(id, this.job.countersOf(ancestor, stat));
        id = (ancestor ?? this.gone.get(id))?.parent ?? null;
      }
    return ancestors;
  }

  private memoryOfAnyThread(process: JobProcess): StatusMemory | null {
    return memoryOfAnyThread(process.pid, this.job.rules.procRoot);
  }
}

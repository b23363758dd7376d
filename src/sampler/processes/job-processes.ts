import { hasGroup } from '../../sources/proc/status';
import {
  listsChildren,
  memoryOfAnyThread,
  openProcess,
  type DescriptorBudget,
  type ProcessFiles,
} from '../../sources/proc/process-files';
import type { Stat } from '../../sources/proc/stat';
import type { StatusMemory } from '../../sources/proc/status';
import type { MemoryReading } from '../peaks/peaks';
import { markSlackBytes, slackBytes, type CounterPrecision } from '../peaks/slack';
import { newMachineScan, type MachineScan, type SeenProcess } from './machine-scan';
import type { Counters } from './totals';
import { monotonicUs } from '../../sources/proc/clock';
import type { Sweep, SweepReading } from '../peaks/upper-ends';

/** Where a job's processes are looked for. */
export interface ClaimRules {
  readonly procRoot: string;
  /** Root of the job's tree: Grid Engine's `job_pid`, or the process given to `run`. null: not started yet. */
  rootPid: number | null;
  /** Parent of the root (the shepherd); its children that carry the group are roots, too. */
  readonly shepherdPid: number | null;
  /** Additional group id; null: none, then nothing is known of processes that leave the tree. */
  readonly group: number | null;
  /** Nothing that started before this (clock ticks after boot) belongs to the job: group ids are re-used. */
  readonly notBefore: number;
  readonly precision: CounterPrecision;
  readonly sharesAddressSpace: (pid: number, other: number) => boolean | null;
  /** The kernel tells of forks, execs and exits: what became of a forked image that has gone is left to those. */
  eventsTell: boolean;
  /** Pids that the events tell of: they are ours also where they have left the tree. */
  told?: ReadonlySet<number>;
  /** Left out: one of its own. */
  readonly machine?: MachineScan;
}

/** One process of the job, as plain data; `image` counts its executed programs. */
interface TrackedProcess {
  readonly pid: number;
  readonly startTicks: number;
  parent: string | null;
  byTree: boolean;
  byGroup: boolean;
  image: number;
  imageMark: number;
  pending: boolean;
  /** Shares another process's address space (vfork): not one of its own. */
  shared: boolean;
  command: string;
  readonly firstSeenMs: number;
  /** Has computed, or touched memory of its own, since it was forked. */
  worked: boolean;
  lastSeenMs: number;
  threads: number;
  rssMark: number;
  largestRss: number;
}

interface ProcessSample {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly rss: number;
  readonly vmem: number;
  readonly cpuTicks: number;
}

/** What one tick saw. Memory in bytes. */
export interface TickReadings {
  readonly atMs: number;
  readonly memory: readonly MemoryReading[];
  readonly processes: readonly ProcessSample[];
  readonly counters: ReadonlyMap<string, Counters>;
  /** Ancestors of processes found gone, read again after that: by then they hold what they waited for. */
  readonly heirs: ReadonlyMap<string, Counters>;
  readonly threads: number;
  /** Plain sums of this tick: what a reader of `top` would have seen. */
  readonly rss: number;
  readonly vmem: number;
  readonly swap: number;
  readonly anonymous: number;
  readonly file: number;
  readonly shmem: number;
  /** Images whose fate became known: true when they never executed anything and so count. */
  readonly resolved: readonly (readonly [string, boolean])[];
  /** Forked images that have gone, by pid, where the kernel's events tell whether they executed anything. */
  readonly departed: readonly (readonly [number, string])[];
  /** The same readings for the upper ends. */
  readonly sweep: Sweep;
  readonly execs: number;
  readonly fallenMarks: number;
  readonly failedReads: number;
}

export interface JobProcesses {
  readonly tracked: ReadonlyMap<string, TrackedProcess>;
  /** Distinct processes seen so far, and how they were claimed. */
  counts(): { readonly seen: number; readonly treeOnly: number; readonly groupOnly: number };
  /**
   * Finds new processes and reads all. `scanAll`: look through all of /proc for the group. `rising` tells whether sums of
   * anonymous memory and of RSS + swap would raise a maximum: then both are read again and the smaller readings taken.
   */
  tick(
    atMs: number,
    scanAll: boolean,
    rising: (anonymous: number, rssSwap: number) => boolean,
    /** Everything is read, also what has not run since the last time. */
    last?: boolean,
  ): TickReadings;
  /** Pending images that are workers by now, though their end has not been seen. */
  workers(): readonly string[];
  save(): unknown;
  close(): void;
}

/**
 * A forked image is taken for a worker, not for a helper about to exec, when it has been seen this long and has worked:
 * used CPU time, or faulted in a part of what it shows. An idle copy that waits and then execs between two readings does
 * neither. That a worker ended without an exec is taken for granted; only exec events could tell.
 */
const LASTING_MS = 250;
const WORKED_TICKS = 2;
/** Faults bring in up to 16 pages of a file or of shared memory at once. */
const WORKED_SHARE = 32;

const isWorker = (process: TrackedProcess): boolean =>
  process.worked && process.lastSeenMs - process.firstSeenMs >= LASTING_MS;
const KIB = 1024;
/** Children of these many threads are looked for at every tick; of more, only with a scan of all of /proc. */
const MOST_THREADS_WALKED = 16;

function commandName(comm: string, executable: string | null): string {
  const clean = comm.replace(/\p{Cc}/gu, '?');
  if (executable === null) return clean;
  const name = executable.replace(/\p{Cc}/gu, '?');
  return name.startsWith(clean) || clean.startsWith(name) ? name : `${clean} (${name})`;
}

interface Live {
  readonly process: TrackedProcess;
  readonly files: ProcessFiles;
  /** Slept when it was last read. */
  sleeps: boolean;
  /** What it had run for then. */
  ran: string | null;
  /** As it was when it had run for `ran`; null: not worth remembering. */
  rest: Rest | null;
}

/** A whole reading of a process with one thread, which holds for as long as the process does not run. */
interface Rest {
  readonly ran: string;
  readonly reading: MemoryReading;
  readonly sweep: SweepReading;
  readonly counters: Counters;
  readonly sample: ProcessSample;
  readonly status: StatusMemory;
  /** Ticks for which it has been taken as it was. */
  ticks: number;
}

/** After so many ticks it is read again, although it has not run: the upper ends wait for that. */
const MOST_RESTING = 8;

interface Saved {
  readonly tracked: readonly (readonly [string, TrackedProcess])[];
  readonly seen: number;
  readonly treeOnly: number;
  readonly groupOnly: number;
}

/** Starts following a job; `saved` continues what another sampler process had found. */
export function followProcesses(rules: ClaimRules, budget: DescriptorBudget, saved: unknown = null): JobProcesses {
  const tracked = new Map<string, TrackedProcess>();
  const live = new Map<string, Live>();
  const idOfPid = new Map<number, string>();
  const childrenListed = listsChildren(rules.procRoot);
  /** `live`, parents before children; null: to be made anew. */
  let ordered: readonly (readonly [string, Live])[] | null = null;
  const machine = rules.machine ?? newMachineScan(rules.procRoot);
  let seen = 0;
  let treeOnly = 0;
  let groupOnly = 0;

  if (saved !== null) {
    const state = saved as Saved;
    ({ seen, treeOnly, groupOnly } = state);
    for (const [id, process] of state.tracked) {
      tracked.set(id, process);
      live.set(id, {
        process,
        files: openProcess(process.pid, budget, rules.procRoot),
        sleeps: false,
        ran: null,
        rest: null,
      });
      idOfPid.set(process.pid, id);
    }
  }

  function adopt(pid: number, way: 'tree' | 'group' | 'told', atMs: number, parent: number | null = null): void {
    const known = idOfPid.get(pid);
    if (known !== undefined) {
      const process = tracked.get(known);
      if (process && way === 'tree') process.byTree = true;
      return;
    }
    const files = openProcess(pid, budget, rules.procRoot);
    const stat = files.stat();
    if (stat === null || stat.startTicks < rules.notBefore || stat.state === 'X') {
      files.close();
      return;
    }
    const byGroup = carriesGroup(files);
    // An event may have been missed, or the machine looked at a while ago: the number may be someone else's by now.
    const stranger = way === 'tree' ? parent !== null && stat.ppid !== parent : rules.group !== null;
    if (stranger && !byGroup) {
      files.close();
      return;
    }
    const id = `${pid}.${stat.startTicks}`;
    const process: TrackedProcess = {
      pid,
      startTicks: stat.startTicks,
      parent: idOfPid.get(stat.ppid) ?? null,
      byTree: way !== 'group',
      byGroup,
      image: 0,
      imageMark: stat.image,
      pending: stat.forkedNoExec,
      shared: false,
      command: commandName(stat.comm, files.executable()),
      firstSeenMs: atMs,
      worked: false,
      lastSeenMs: atMs,
      threads: stat.threads,
      rssMark: 0,
      largestRss: 0,
    };
    process.shared = sharesWithParent(process, stat);
    tracked.set(id, process);
    live.set(id, { process, files, sleeps: false, ran: null, rest: null });
    ordered = null;
    idOfPid.set(pid, id);
    seen++;
    if (rules.group !== null && process.byTree && !byGroup) treeOnly++;
    if (!process.byTree) groupOnly++;
  }

  function carriesGroup(files: ProcessFiles): boolean {
    const { group } = rules;
    return group !== null && (files.status((text, length) => hasGroup(text, length, group)) ?? false);
  }

  function sharesWithParent(process: TrackedProcess, stat: Stat): boolean {
    if (!stat.forkedNoExec || !idOfPid.has(stat.ppid)) return false;
    return rules.sharesAddressSpace(process.pid, stat.ppid) ?? false;
  }

  function findRoots(atMs: number): void {
    if (rules.rootPid === null || idOfPid.has(rules.rootPid)) return;
    adopt(rules.rootPid, 'tree', atMs);
  }

  /**
   * Looks at every process of the machine: its parent and its groups. Costs a listing of /proc, so it is done at every
   * tick only where the kernel doesn't list children.
   */
  function scanMachine(atMs: number): void {
    const { group } = rules;
    let strangers: SeenProcess[] = [];
    for (const seen of machine.processes(atMs)) {
      const { pid, parent, groups } = seen;
      if (idOfPid.has(pid)) continue;
      if (idOfPid.has(parent)) adopt(pid, 'tree', atMs, parent);
      else if (group !== null && groups.includes(group))
        adopt(pid, parent === rules.shepherdPid ? 'tree' : 'group', atMs);
      else strangers.push(seen);
    }
    // A child may have a lower pid than its parent, and so have been looked at first.
    for (let adopted = true; adopted;) {
      const rest = strangers.filter(({ pid, parent }) => {
        if (!idOfPid.has(parent)) return true;
        adopt(pid, 'tree', atMs, parent);
        return false;
      });
      adopted = rest.length < strangers.length;
      strangers = rest;
    }
  }

  const mayRest = ({ rest }: Live): boolean => rest !== null && rest.ticks < MOST_RESTING;

  function walkTree(atMs: number, everyThread: boolean, presumed: ReadonlySet<Live>): void {
    const queue = [...live.values()];
    for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
      // Who sleeps forks nobody; whose children wake us first are told of by events, or found at the next tick.
      if (!everyThread && presumed.has(next)) continue;
      const threads = next.process.threads;
      const all = threads > 1 && (everyThread || threads <= MOST_THREADS_WALKED);
      for (const pid of next.files.children(all)) {
        if (idOfPid.has(pid)) continue;
        adopt(pid, 'tree', atMs);
        const id = idOfPid.get(pid);
        const added = id === undefined ? undefined : live.get(id);
        if (added) queue.push(added);
      }
    }
  }

  function countersOf(stat: Stat, files: ProcessFiles): Counters {
    const io = files.io();
    return {
      parent: idOfPid.get(stat.ppid) ?? null,
      cpu: stat.cpuTicks + stat.childCpuTicks,
      childCpu: stat.childCpuTicks,
      faults: stat.minorFaults + stat.childMinorFaults,
      childFaults: stat.childMinorFaults,
      readChars: io?.readChars ?? 0,
      writtenChars: io?.writtenChars ?? 0,
      readBytes: io?.readBytes ?? 0,
      writtenBytes: io?.writtenBytes ?? 0,
    };
  }

  function readHeirs(gone: ReadonlyMap<string, TrackedProcess>): ReadonlyMap<string, Counters> {
    const heirs = new Map<string, Counters>();
    const seen = new Set<string>();
    for (const process of gone.values())
      for (let id = process.parent; id !== null && !seen.has(id);) {
        seen.add(id);
        const heir = live.get(id);
        const stat = heir?.files.stat() ?? null;
        if (heir !== undefined && stat?.startTicks === heir.process.startTicks)
          heirs.set(id, countersOf(stat, heir.files));
        id = (heir?.process ?? gone.get(id))?.parent ?? null;
      }
    return heirs;
  }

  function noteWork(process: TrackedProcess, stat: Stat, rss: number): void {
    process.worked ||=
      stat.cpuTicks >= WORKED_TICKS || stat.minorFaults * rules.precision.pageSize * WORKED_SHARE >= rss;
  }

  function forget(
    id: string,
    entry: Live,
    resolved: (readonly [string, boolean])[],
    departed: (readonly [number, string])[],
  ): void {
    const { process } = entry;
    if (process.pending && !process.shared) {
      if (rules.eventsTell) departed.push([process.pid, imageId(id, process)]);
      else resolved.push([imageId(id, process), isWorker(process)]);
    }
    entry.files.close();
    live.delete(id);
    ordered = null;
    tracked.delete(id);
    idOfPid.delete(process.pid);
  }

  const imageId = (id: string, process: TrackedProcess): string => `${id}/${process.image}`;

  return {
    tracked,
    counts: () => ({ seen, treeOnly, groupOnly }),

    tick: (atMs, scanAll, rising, last = false) => {
      const begin = monotonicUs();
      const presumed = new Set<Live>();
      if (!last) for (const entry of live.values()) if (mayRest(entry)) presumed.add(entry);
      findRoots(atMs);
      if (scanAll || !childrenListed) scanMachine(atMs);
      if (childrenListed) walkTree(atMs, scanAll, presumed);
      for (const pid of rules.told ?? []) if (!idOfPid.has(pid)) adopt(pid, 'told', atMs);

      const resolved: (readonly [string, boolean])[] = [];
      const departed: (readonly [number, string])[] = [];
      const swept: SweepReading[] = [];
      let execs = 0;
      let fallenMarks = 0;
      let failedReads = 0;

      const first = new Map<string, { rss: number; vmem: number }>();
      const pageSize = rules.precision.pageSize;
      for (const [id, entry] of live) {
        const { process, files, rest } = entry;
        if (rest !== null && presumed.has(entry)) {
          const checkedAt = monotonicUs();
          if (files.ran() === rest.ran) {
            swept.push({ ...rest.sweep, at: checkedAt, asleep: true });
            continue;
          }
          // It has woken up: it is read twice, as everybody else.
          presumed.delete(entry);
        }
        const statm = files.statm();
        if (statm === null) continue;
        // No address space: a zombie, or a first thread that has exited.
        const status = statm.size === 0 && process.threads > 1 ? memoryOfAnyThread(process.pid, rules.procRoot) : null;
        if (status !== null) first.set(id, { rss: status.vmRss * KIB, vmem: status.vmSize * KIB });
        else first.set(id, { rss: statm.resident * pageSize, vmem: statm.size * pageSize });
      }

      /** Takes a process that had not run when this tick began as it was read last. */
      function takeResting(id: string, entry: Live, atMs: number): boolean {
        const { process, files, rest } = entry;
        const statm = rest === null ? null : files.statm();
        if (rest === null || !statm?.size) return false;
        rest.ticks++;
        // Asleep it can only lose pages: to the kernel, which wants them for others.
        const rss = Math.min(statm.resident * pageSize, rest.reading.rss);
        const lost = rest.reading.rss - rss;
        const reading =
          lost === 0
            ? rest.reading
            : {
                ...rest.reading,
                rss,
                rssSwap: Math.max(0, rest.reading.rssSwap - lost),
                anonymous: Math.max(0, rest.reading.anonymous - lost),
              };
        const sample = rss === rest.sample.rss ? rest.sample : { ...rest.sample, rss };
        counters.set(id, rest.counters);
        memory.push(reading);
        read.push(entry);
        processes.push(sample);
        process.lastSeenMs = atMs;
        sum.threads += 1;
        sum.rss += rss;
        sum.vmem += sample.vmem;
        sum.swap += rest.status.vmSwap * KIB;
        sum.anonymous += reading.anonymous;
        sum.file += rest.status.rssFile * KIB;
        sum.shmem += rest.status.rssShmem * KIB;
        return true;
      }

      const memory: MemoryReading[] = [];
      const read: Live[] = [];
      const processes: ProcessSample[] = [];
      const counters = new Map<string, Counters>();
      const gone = new Map<string, TrackedProcess>();
      const sum = { rss: 0, vmem: 0, swap: 0, anonymous: 0, file: 0, shmem: 0, threads: 0 };
      // Parents before children: what a child takes into its parent while this goes on is not counted in both.
      ordered ??= [...live].sort(([, a], [, b]) => a.process.startTicks - b.process.startTicks);
      for (const [id, entry] of ordered) {
        const { process, files } = entry;
        if (presumed.has(entry) && takeResting(id, entry, atMs)) continue;
        const readAt = monotonicUs();
        entry.rest = null;
        // Before anything else is read: what has not run since then is as it is read now.
        const ran = entry.sleeps && process.threads === 1 ? files.ran() : null;
        // Already at the last reading: both of its parts were made of the same pages.
        const rested = ran !== null && ran === entry.ran;
        entry.ran = ran;
        const stat = files.stat();
        if (stat?.startTicks !== process.startTicks) {
          gone.set(id, process);
          forget(id, entry, resolved, departed);
          continue;
        }
        const counted = countersOf(stat, files);
        counters.set(id, counted);
        process.parent = counted.parent;
        process.threads = stat.threads;
        sum.threads += stat.threads;

        const leaderGone = stat.state === 'Z' && stat.threads > 1;
        const status = leaderGone ? memoryOfAnyThread(process.pid, rules.procRoot) : files.memory();
        if (status === null) {
          const dead = stat.state === 'Z' || stat.state === 'X';
          if (!dead) failedReads++;
          // A zombie still tells whether it ever executed anything.
          else if (process.pending) {
            if (!process.shared) resolved.push([imageId(id, process), stat.forkedNoExec]);
            process.pending = false;
          }
          process.lastSeenMs = atMs;
          continue;
        }

        swept.push({
          pid: process.pid,
          at: readAt,
          forkedNoExec: stat.forkedNoExec,
          image: stat.image,
          rss: status.vmHwm * KIB + markSlackBytes(rules.precision, stat.threads),
          vmem: status.vmPeak * KIB,
        });
        const fell = status.vmHwm * KIB + markSlackBytes(rules.precision, stat.threads) < process.rssMark;
        // In the middle of an exec the stack has no place yet: the image before may have been read as 0.
        const changed = stat.image !== 0 && stat.image !== process.imageMark && (process.imageMark !== 0 || fell);
        const execed = (process.pending && !stat.forkedNoExec) || changed;
        let executing = !execed && stat.image === 0 && process.imageMark !== 0;
        if (execed) {
          if (process.pending) {
            if (!process.shared) resolved.push([imageId(id, process), false]);
          } else execs++;
          // The shepherd's child may have been seen before it had taken on the job's group.
          if (process.pending && process.byTree && !process.byGroup && carriesGroup(files)) {
            process.byGroup = true;
            treeOnly--;
          }
          process.image++;
          process.pending = false;
          process.shared = false;
          process.command = commandName(stat.comm, files.executable());
          process.rssMark = 0;
        } else if (fell) {
          // This reading may be half of the program before.
          executing ||= stat.image !== (files.stat()?.image ?? 0);
          if (!executing) fallenMarks++;
        }
        if (!executing) process.imageMark = stat.image;
        process.rssMark = status.vmHwm * KIB;
        process.lastSeenMs = atMs;
        entry.sleeps = stat.state === 'S';
        if (process.shared) continue;

        // The first sweep may have read the image before: then this one was not there at both.
        const reading = toReading(imageId(id, process), process, status, execed ? undefined : first.get(id));
        memory.push(reading);
        read.push(entry);
        const rss = execed ? status.vmRss * KIB : reading.rss;
        const vmem = execed ? status.vmSize * KIB : reading.vmem;
        const sample = { id, pid: process.pid, command: process.command, rss, vmem, cpuTicks: stat.cpuTicks };
        processes.push(sample);
        const whole = entry.sleeps && !process.pending && !execed && !executing && stat.threads === 1;
        if (rested && whole) {
          const sweep = swept.at(-1) as SweepReading;
          entry.rest = { ran, reading, sweep, counters: counted, sample, status, ticks: 0 };
        }
        process.largestRss = Math.max(process.largestRss, rss);
        if (process.pending) noteWork(process, stat, rss);
        if (process.pending && !isWorker(process)) continue;
        sum.rss += rss;
        sum.vmem += vmem;
        sum.swap += status.vmSwap * KIB;
        sum.anonymous += reading.anonymous;
        sum.file += status.rssFile * KIB;
        sum.shmem += status.rssShmem * KIB;
      }
      let sumAnonymous = 0;
      let sumRssSwap = 0;
      for (const reading of memory) {
        sumAnonymous += reading.anonymous;
        sumRssSwap += reading.rssSwap;
      }
      const settled = rising(sumAnonymous, sumRssSwap)
        ? memory.map((reading, index) => {
            const { process, files } = read[index] as Live;
            const again = files.memory();
            return smaller(
              reading,
              again ?? (process.threads > 1 ? memoryOfAnyThread(process.pid, rules.procRoot) : null),
            );
          })
        : memory;
      const heirs = readHeirs(gone);
      return {
        atMs,
        memory: settled,
        processes,
        counters,
        heirs,
        ...sum,
        resolved,
        departed,
        sweep: { begin, readings: swept },
        execs,
        fallenMarks,
        failedReads,
      };
    },

    workers: () =>
      [...tracked]
        .filter(([, process]) => process.pending && !process.shared && isWorker(process))
        .map(([id, process]) => imageId(id, process)),

    save: (): Saved => ({ tracked: [...tracked], seen, treeOnly, groupOnly }),

    close: () => {
      for (const { files } of live.values()) files.close();
      live.clear();
    },
  };

  function smaller(reading: MemoryReading, again: StatusMemory | null): MemoryReading {
    if (again === null) return { ...reading, anonymous: 0, rssSwap: 0 };
    return {
      ...reading,
      anonymous: Math.min(reading.anonymous, (again.rssAnon + again.vmSwap) * KIB),
      rssSwap: Math.min(reading.rssSwap, (again.vmRss + again.vmSwap) * KIB),
    };
  }

  function toReading(
    id: string,
    process: TrackedProcess,
    status: StatusMemory,
    before: { readonly rss: number; readonly vmem: number } | undefined,
  ): MemoryReading {
    const rss = Math.min(status.vmRss * KIB, before?.rss ?? 0);
    return {
      id,
      rss,
      rssSwap: (status.vmRss + status.vmSwap) * KIB,
      vmem: Math.min(status.vmSize * KIB, before?.vmem ?? 0),
      anonymous: (status.rssAnon + status.vmSwap) * KIB,
      rssMark: status.vmHwm * KIB,
      vmemMark: status.vmPeak * KIB,
      slack: slackBytes(rules.precision, process.threads),
      markSlack: markSlackBytes(rules.precision, process.threads),
      pending: process.pending,
      command: process.command,
    };
  }
}

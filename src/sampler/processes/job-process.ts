import { KIB, MIB } from '../../base/units';
import { hasGroup, type StatusMemory } from '../../sources/proc/status';
import type { ProcessFiles } from '../../sources/proc/process-files';
import type { Stat } from '../../sources/proc/stat';
import { boolean, integer, nullable, number, object, text, type ValueOf } from '../../base/shape';
import type { MemoryReading } from '../peaks/peaks';
import type { SweepReading } from '../peaks/upper-ends';
import type { Counters } from './totals';

/** What is known of one process over its life, as plain data. */
export const SAVED_PROCESS = object({
  pid: integer(1),
  startTicks: integer(0),
  /** Id of the parent, if that is one of the job's. */
  parent: nullable(text(64)),
  byTree: boolean,
  byGroup: boolean,
  /** Counts its executed programs. */
  image: integer(0),
  /** Differs for every program (Stat.image). */
  imageMark: number(0),
  /** Forked and not yet executed anything. */
  pending: boolean,
  /** Shares the address space of another process, which counts it (vfork). */
  shared: boolean,
  command: text(4096),
  firstSeenMs: number(),
  /** Of a forked image: when it was last seen to be one. */
  lastSeenMs: number(),
  /** Has computed, or touched memory of its own, since it was forked. */
  worked: boolean,
  /** Has taken memory of its own since, OWN_BYTES or more. */
  grown: boolean,
  threads: integer(0),
  rssMark: number(0),
});
type SavedProcess = ValueOf<typeof SAVED_PROCESS>;

/** One process in one sample. Memory in bytes. */
export interface ProcessSample {
  readonly id: string;
  readonly pid: number;
  readonly command: string;
  readonly rss: number;
  readonly vmem: number;
  readonly cpuTicks: number;
}

/** A complete reading of a single-threaded process, valid as long as the process does not run. */
interface Rest {
  /** Mark of what it had run by then (ProcessFiles.ran). */
  readonly ran: string;
  readonly reading: MemoryReading;
  readonly sweep: SweepReading;
  readonly counters: Counters;
  readonly sample: ProcessSample;
  readonly status: StatusMemory;
  /** Number of ticks that have re-used this reading. */
  ticks: number;
}

/**
 * A forked image is taken for a worker, not for a helper about to exec, when it has been seen this long and has worked:
 * used CPU time, or faulted in part of the memory that it shows. An idle copy that waits and then execs between two
 * readings does neither. Without the kernel's events a worker that has gone is assumed never to have executed anything.
 */
const LASTING_MS = 250;
const WORKED_TICKS = 2;
/** A worker has one fault per this many resident pages: one maps up to 16 pages of a file or of shared memory. */
const WORKED_SHARE = 32;
/** A worker that has taken this much memory of its own counts even if it then executes a program: a subshell has not. */
const OWN_BYTES = 16 * MIB;
/** After this many ticks a process is read again although it has not run: the upper bounds wait for that reading. */
const MOST_RESTING = 8;

/** Whether the process carries this additional group id. */
export const carriesGroup = (files: ProcessFiles, group: number | null): boolean =>
  group !== null && (files.status((status, length) => hasGroup(status, length, group)) ?? false);

/** The name of a program: `comm`, the name of its executable, or both where they differ. */
export function commandName(comm: string, executable: string | null): string {
  const clean = comm.replace(/\p{Cc}/gu, '?');
  if (executable === null) return clean;
  const name = executable.replace(/\p{Cc}/gu, '?');
  return name.startsWith(clean) || clean.startsWith(name) ? name : `${clean} (${name})`;
}

/** One process of the job, with its open files and its last reading. */
export class JobProcess {
  readonly pid: number;
  readonly startTicks: number;
  /** Pid and start time: never re-used. */
  readonly id: string;
  parent: string | null;
  byTree: boolean;
  byGroup: boolean;
  imageMark: number;
  pending: boolean;
  shared: boolean;
  command: string;
  readonly firstSeenMs: number;
  lastSeenMs: number;
  threads: number;
  rssMark: number;
  /** Whether it slept when it was last read, and the mark of what it had run by then (null: none). */
  sleeps = false;
  ran: string | null = null;
  /** Reading to re-use while the process does not run; null: it must be read. */
  rest: Rest | null = null;
  /** In the current tick, it is not known to have run since `rest` was read. */
  presumedAsleep = false;
  /** Its `io` can't be read, as that of a set-user-ID program without root. */
  ioUnread = false;
  /** As last read; null: not yet. */
  counters: Counters | null = null;
  /** What the first of the tick's two sweeps read, in bytes. */
  firstRss = 0;
  firstVmem = 0;
  private image: number;
  private worked: boolean;
  private grown: boolean;
  private currentImageId: string;

  constructor(
    saved: SavedProcess,
    readonly files: ProcessFiles,
  ) {
    this.pid = saved.pid;
    this.startTicks = saved.startTicks;
    this.id = `${saved.pid}.${saved.startTicks}`;
    this.parent = saved.parent;
    this.byTree = saved.byTree;
    this.byGroup = saved.byGroup;
    this.image = saved.image;
    this.imageMark = saved.imageMark;
    this.pending = saved.pending;
    this.shared = saved.shared;
    this.command = saved.command;
    this.firstSeenMs = saved.firstSeenMs;
    this.lastSeenMs = saved.lastSeenMs;
    this.worked = saved.worked;
    this.grown = saved.grown;
    this.threads = saved.threads;
    this.rssMark = saved.rssMark;
    this.currentImageId = `${this.id}/${this.image}`;
  }

  /** Identifies the program that it runs or, before its first exec, the copy of its parent that it is. */
  get imageId(): string {
    return this.currentImageId;
  }

  isWorker(): boolean {
    return this.worked && this.lastSeenMs - this.firstSeenMs >= LASTING_MS;
  }

  mayRest(): boolean {
    return this.rest !== null && this.rest.ticks < MOST_RESTING;
  }

  /** Whether a forked image counts even if it then executes a program. */
  hasOwnMemory(): boolean {
    return this.grown && this.isWorker();
  }

  /** Takes a reading of a forked image. `parentMark`: VmHWM of its parent, in bytes; Infinity: not known. */
  noteWork(stat: Stat, status: StatusMemory, atMs: number, pageSize: number, parentMark: number): void {
    const faulted = stat.minorFaults * pageSize;
    this.lastSeenMs = atMs;
    this.worked ||= stat.cpuTicks >= WORKED_TICKS || faulted * WORKED_SHARE >= status.vmRss * KIB;
    // One fault may map a huge page.
    this.grown ||= faulted >= OWN_BYTES || status.vmHwm * KIB >= parentMark + OWN_BYTES;
  }

  /** It runs another program. */
  beginImage(command: string): void {
    this.image++;
    this.currentImageId = `${this.id}/${this.image}`;
    this.pending = false;
    this.shared = false;
    this.command = command;
    this.rssMark = 0;
  }

  save(): SavedProcess {
    const { pid, startTicks, parent, byTree, byGroup, image, imageMark, pending, shared, command } = this;
    const { firstSeenMs, lastSeenMs, worked, grown, threads, rssMark } = this;
    return {
      ...{ pid, startTicks, parent, byTree, byGroup, image, imageMark, pending, shared, command },
      ...{ firstSeenMs, lastSeenMs, worked, grown, threads, rssMark },
    };
  }
}

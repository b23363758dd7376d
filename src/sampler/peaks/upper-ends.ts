import { integer, list, nullable, object, oneOf, type ValueOf } from '../../base/shape';
import { OPEN_REASONS } from '../../record/fields';
import type { OpenReason } from '../../record/record';
import type { ProcessEvent } from '../listener/process-table';
import { CapSums, SAVED_CAP_SUMS, type UnknownBounds, type UpperResult } from './cap-sums';
import { Interval, ProcessLife, NOTHING, type HighWaterMarks } from './interval-caps';

/**
 * Upper bounds of a job's peaks, from the kernel's fork, exec and exit events and from readings of high-water marks.
 *
 * The proof. Time is cut at the sweeps: b(k) is when sweep k began, before it looked at any process. Take a moment t in
 * (b(k-1), b(k)] and a process P that lived then.
 *  - The mark of P's program (VmHWM, VmPeak, or the exit record's) never falls and covers all of that program's past. A
 *    mark read at or after b(k), or at its exit, is therefore at least what P held at t: the *cap* of P in k.
 *  - Which processes lived at t is known from the events, if every process of the job descends from a fork that was seen
 *    and no event was lost. So the sum of the caps of those processes is at least the job's sum at t. The largest such
 *    sum over all t is the upper bound; it rises only at a birth, and is computed there and at the start of k.
 *  - An exit event comes after the address space has gone, so that no life is taken to end too early. A copy made by
 *    fork exists a little before its fork event. It counts if it never executes a program, if it was seen to have memory
 *    of its own (JobProcess.hasOwnMemory), or if nobody looked for UNSEEN_US before its exec; then its life is taken to
 *    begin with the last known event of the thread that forked it (one thread makes one fork at a time), but not
 *    before the last two sweeps: a fork is assumed to last no longer than that.
 *  - A program exists a little before its exec event, and a reading may show it by then: its marks are a program's,
 *    and within an interval a program counts from the start of the interval, or of its process.
 *  - When a process that had executed a program executes another, the mark of the first is lost, as is that of a copy
 *    that counts; what it grew to since its last reading is *unknown*. As a reading just before an exec event may
 *    already be of the new program, the interval before is unknown for that process, too; so are those around a reading
 *    that shows another program without an event. An exec, too, is assumed to last no longer than from one sweep to the next.
 *  - An unknown mark is at most the address space limit (no program holds more pages than it may map); for resident
 *    memory also at most `ru_maxrss` of the job's first process, if the kernel added this process's figures to it. If
 *    neither is known, the upper bound stays open: "exec".
 *  - An address space shared by two processes (vfork) is counted for both: too much, never too little.
 *  - Marks are off by their slack at most; it is added to each.
 *
 * Bytes, and microseconds of the monotonic clock.
 */

export type LifeEvent =
  | Exclude<ProcessEvent, { kind: 'exit' }>
  /** The last thread of the process has gone. */
  | {
      readonly kind: 'exit';
      readonly at: number;
      readonly pid: number;
      /** null: no exit record came. */
      readonly marks: HighWaterMarks | null;
      /** Over its whole life; 0: unknown. */
      readonly minorFaults: number;
    };

/** One process as a sweep saw it. */
export interface SweepReading extends HighWaterMarks {
  readonly pid: number;
  /** Just before it was read. */
  readonly at: number;
  /** Forked, and has not executed a program since. */
  readonly forkedNoExec: boolean;
  /** A forked copy that counts even if it then executes a program. */
  readonly ownMemory?: boolean;
  /** Differs for every program of a process; 0: not known. */
  readonly image: number;
  /**
   * It has not run since these marks were read in an earlier sweep. Another process, or the kernel, may still have
   * given it memory: so the marks hold only for the time being, until its next reading.
   */
  readonly asleep?: boolean;
}

export interface Sweep {
  /** When it began, before the first process was looked for. */
  readonly begin: number;
  /** In the order in which they were made. */
  readonly readings: readonly SweepReading[];
}

/** Most intervals kept for copies that may still execute something; beyond this the oldest counts them as they are. */
const MOST_WAITING = 24;
/** An interval is not added up before the sweep after the next one: that sweep may show an exec in progress. */
const SETTLE_AFTER = 2;
/** A copy that was not read for this long (µs) before it executed a program counts: it may have grown meanwhile. */
const UNSEEN_US = 2_000_000;

/** State for a successor, which will not have heard the events in between. */
export const SAVED_UPPER_ENDS = object({
  sums: SAVED_CAP_SUMS,
  reasons: list(oneOf(OPEN_REASONS), OPEN_REASONS.length),
  rootPid: nullable(integer(0)),
});
type SavedUpperEnds = ValueOf<typeof SAVED_UPPER_ENDS>;

/** The upper bounds of one job; `saved` continues the work of another sampler process. */
export class UpperEnds {
  private readonly living = new Map<number, ProcessLife>();
  private readonly sums: CapSums;
  private readonly reasons: Set<OpenReason>;
  private events: LifeEvent[] = [];
  /** Index of the first event that has not been taken. */
  private next = 0;
  /** Closed intervals that are not settled, oldest first; settled ones are added up in `sums`. */
  private intervals: Interval[] = [];
  /** The interval since the last sweep. */
  private current = new Interval(-Infinity);
  private rootPid: number | null;
  private rootForkSeen = false;
  private leastReplacerFaults: number | null = null;

  constructor(saved: SavedUpperEnds | null = null) {
    this.sums = new CapSums(saved?.sums);
    this.reasons = new Set(saved?.reasons);
    this.rootPid = saved?.rootPid ?? null;
  }

  /** Sets the job's first process; its fork, if seen, begins the lineage. */
  setRoot(pid: number): void {
    this.rootPid = pid;
  }

  /** Takes events of any processes, in any order; those of other jobs are left out. */
  addEvents(events: readonly LifeEvent[]): void {
    for (const event of events) this.events.push(event);
  }

  /** Takes the readings of one sweep of the job's processes, after all events until its end have been given. */
  addSweep({ begin, readings }: Sweep): void {
    this.events.sort((a, b) => a.at - b.at);
    this.takeUntil(begin);
    this.current.to = begin;
    this.intervals.push(this.current);
    this.current = new Interval(begin);
    for (const life of this.living.values()) this.current.add(life);
    for (const reading of readings) {
      this.takeUntil(reading.at);
      this.takeReading(reading);
    }
    this.takeUntil(Infinity);
    this.events = [];
    this.next = 0;
    this.closeSettled();
    const from = this.intervals.at(-1)?.from ?? -Infinity;
    for (const life of this.living.values()) life.forgetForks(from);
  }

  open(reason: OpenReason): void {
    this.reasons.add(reason);
  }

  /**
   * The fewest minor faults of any process that ended and had replaced one program by another, the job's first process
   * aside; null: there was none.
   */
  replacerFaults(): number | null {
    return this.leastReplacerFaults;
  }

  /** The bounds as known now; for a running job up to the last sweep but one: the last may have hit an exec midway. */
  result(bounds: UnknownBounds): UpperResult {
    const reasons = new Set(this.reasons);
    if (this.intervals.some((interval) => interval.lacksReading())) reasons.add('failed-read');
    // If nothing was heard or read of the job, 0 is not an upper bound.
    if (!this.rootForkSeen && reasons.size === 0) reasons.add('start-gap');
    return this.allSums().result(bounds, reasons);
  }

  save(): SavedUpperEnds {
    return {
      sums: this.allSums().save(),
      reasons: [...new Set<OpenReason>([...this.reasons, 'listener-lost'])],
      rootPid: this.rootPid,
    };
  }

  /** The sums including the intervals that still wait, as they are now. */
  private allSums(): CapSums {
    const all = new CapSums(this.sums.save());
    for (const interval of this.intervals) all.add(interval);
    all.add(this.current);
    return all;
  }

  private begin(pid: number, born: number, copyFrom: number, executed: boolean): ProcessLife {
    const life = new ProcessLife(pid, pid === this.rootPid, born, Math.min(born, copyFrom), executed);
    this.living.set(pid, life);
    this.current.add(life);
    return life;
  }

  private takeUntil(at: number): void {
    for (let event = this.events[this.next]; event !== undefined && event.at <= at; event = this.events[this.next]) {
      this.next++;
      this.take(event);
    }
  }

  private take(event: LifeEvent): void {
    if (event.kind === 'fork') {
      const parent = this.living.get(event.parent);
      const ours = parent !== undefined || event.child === this.rootPid;
      if (ours && !this.living.has(event.child)) this.takeFork(event.at, parent, event.child, event.thread);
      return;
    }
    const life = this.living.get(event.pid);
    if (life === undefined) return;
    if (event.kind === 'exec') {
      if (life.executed || this.counts(life, event.at)) this.lose(life, 1);
      life.executed = true;
      life.execHeard = true;
      life.vmem = 0;
      return;
    }
    // Killed in the middle of an exec, which no event reports: the record is of the new program, which never ran.
    if (life.executed && event.marks !== null && event.marks.vmem < life.vmem) this.lose(life, 1);
    if (life.replaced && !life.root)
      this.leastReplacerFaults = Math.min(this.leastReplacerFaults ?? Infinity, event.minorFaults);
    life.died = event.at;
    this.living.delete(event.pid);
    if (event.marks === null) this.reasons.add('no-exit-records');
    this.settle(life, event.marks ?? NOTHING, life.executed);
  }

  private takeFork(at: number, parent: ProcessLife | undefined, child: number, thread: number): void {
    const known = parent?.takeFork(thread, at) ?? at;
    if (child === this.rootPid) this.rootForkSeen = true;
    const life = this.begin(child, at, known, false);
    // The copy may have been in the making before the last sweep began.
    const before = this.intervals.at(-1);
    if (before !== undefined && known < before.to) before.add(life);
  }

  private takeReading(reading: SweepReading): void {
    const life = this.living.get(reading.pid) ?? this.adopt(reading);
    if (reading.asleep === true) {
      // These marks stand in for the interval that has just ended, until the process is read again.
      const cap = this.intervals.at(-1)?.caps.get(life);
      cap?.take(reading, true);
      if (cap !== undefined) cap.asleep = true;
      return;
    }
    life.ownMemory ||= reading.ownMemory === true;
    const changed = life.image !== 0 && reading.image !== 0 && reading.image !== life.image;
    const wasCopy = !life.executed && !reading.forkedNoExec && this.counts(life, reading.at);
    if (wasCopy || (changed && life.executed && !life.execHeard)) this.lose(life, 2);
    life.readAt = reading.at;
    life.image = reading.image;
    life.vmem = reading.vmem;
    life.execHeard = false;
    this.settle(life, reading, !reading.forkedNoExec);
  }

  /** Whether the copy that the process was until now, when it executes a program, counts. */
  private counts(life: ProcessLife, at: number): boolean {
    if (!life.root && at - life.readAt >= UNSEEN_US) life.ownMemory = true;
    return life.ownMemory;
  }

  /** Adds a process without a fork event: it is older than the first event, or of unknown origin. */
  private adopt({ pid, forkedNoExec }: SweepReading): ProcessLife {
    this.reasons.add(this.rootForkSeen && pid !== this.rootPid ? 'unknown-origin' : 'start-gap');
    const closing = this.intervals.at(-1);
    const since = (closing ?? this.current).from;
    const life = this.begin(pid, since, since, !forkedNoExec);
    closing?.add(life);
    return life;
  }

  /**
   * Notes that a program's mark is lost: for the current interval, the `back` intervals before it, and older ones that
   * still wait for a mark. What is read from now on is another program's.
   */
  private lose(life: ProcessLife, back: number): void {
    life.replaced = true;
    const recent = this.intervals.length - back;
    for (const [index, interval] of [...this.intervals, this.current].entries()) {
      const cap = interval.caps.get(life);
      if (cap !== undefined && (index >= recent || !cap.known)) cap.unknown = true;
    }
  }

  /** Takes marks of a process for all intervals that wait for some; closed intervals ended before they were read. */
  private settle(life: ProcessLife, marks: HighWaterMarks, executed: boolean): void {
    for (const interval of [...this.intervals, this.current]) {
      const cap = interval.caps.get(life);
      if (cap === undefined || cap.known) continue;
      cap.take(marks, executed);
      cap.known = interval !== this.current || life.died !== null;
    }
  }

  /** Adds up the intervals that no later reading can change, and those that have waited too long for one. */
  private closeSettled(): void {
    const { length } = this.intervals;
    this.intervals = this.intervals.filter((interval, index) => {
      if (index >= length - SETTLE_AFTER || (interval.waits() && length - index <= MOST_WAITING)) return true;
      if (interval.isUnsettled()) this.reasons.add('failed-read');
      this.sums.add(interval);
      return false;
    });
  }
}

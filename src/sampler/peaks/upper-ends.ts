import type { OpenReason } from '../../record/record';

/**
 * Upper ends of a job's peaks, from the kernel's fork, exec and exit events and from readings of high-water marks.
 *
 * The proof. Time is cut at the sweeps: b(k) is when sweep k began, before it looked at any process. Take a moment t in
 * (b(k-1), b(k)] and a process P that lived then.
 *  - The mark of P's program (VmHWM, VmPeak, or the exit record's) never falls and covers all of that program's past. A
 *    mark read at or after b(k), or at its exit, is therefore at least what P held at t: the *cap* of P in k.
 *  - Which processes lived at t is known from the events, if every process of the job descends from a fork that was seen
 *    and no event was lost. So the sum of the caps of those processes is at least the job's sum at t. The largest such
 *    sum over all t is the upper end; it changes only at a birth, and is looked at there and at the start of k.
 *  - An exit event comes after the address space has gone, so that lives are never taken too short at their end. A copy
 *    made by fork exists a little before its fork event. It counts only if it never executes a program; then its life is
 *    taken to begin with the last thing known of the thread that forked it (one thread makes one fork at a time), but
 *    not before the last two sweeps: a fork is taken to last no longer than that.
 *  - A program exists a little before its exec event. A reading tells: one that no longer shows the fresh copy counts,
 *    and within an interval a program counts from the start of the interval, or of its process.
 *  - When a process that had executed a program executes another, the mark of the first is lost; what it grew to since
 *    its last reading is *unknown*. As a reading just before an exec event may already be of the new program, the interval
 *    before is unknown for that process, too; so are those around a reading that shows another program without an event.
 *    An exec, too, is taken to last no longer than from one sweep to the next.
 *  - An unknown is at most the address space limit (no program holds more pages than it may map); for resident memory
 *    also at most `ru_maxrss` of the job's first process, if the kernel added this process's figures to it. Where neither
 *    is known the end stays open: "exec".
 *  - An address space shared by two processes (vfork) is counted for both: too much, never too little.
 *  - Marks are off by their slack at most; it is added to each.
 *
 * Bytes, and microseconds of the monotonic clock.
 */

/** What a process's program ever held, with the slack of the resident part already added. */
export interface Marks {
  readonly rss: number;
  readonly vmem: number;
}

export type LifeEvent =
  | {
      readonly kind: 'fork';
      readonly at: number;
      readonly parent: number;
      readonly child: number;
      readonly thread: number;
    }
  | { readonly kind: 'exec'; readonly at: number; readonly pid: number }
  /** The last thread of a process has gone; null: no exit record of it came. */
  | { readonly kind: 'exit'; readonly at: number; readonly pid: number; readonly marks: Marks | null };

/** One process as a sweep saw it. */
export interface SweepReading extends Marks {
  readonly pid: number;
  /** When it had been read. */
  readonly at: number;
  /** Forked, and has not executed a program since. */
  readonly forkedNoExec: boolean;
  /** Differs for every program of a process; 0: not told. */
  readonly image: number;
  /**
   * It has not run since these marks were read, before this sweep: another process, or the kernel, may still have given
   * it memory. So they hold for the time being; what they stand for is settled by its next reading.
   */
  readonly asleep?: boolean;
}

export interface Sweep {
  /** When it began, before the first process was looked for. */
  readonly begin: number;
  /** In the order in which they were made. */
  readonly readings: readonly SweepReading[];
}

/** The largest sums of caps, by how many of the processes in them are unknown. */
interface Sum {
  /** The job's first process is one of them (0 or 1), and how many others are. */
  readonly root: number;
  readonly others: number;
  /** Of the processes that are known. */
  rss: number;
  vmem: number;
  /** The largest cap of an unknown one: what its later program was seen to hold. */
  unknownRss: number;
  unknownVmem: number;
}

interface Cap {
  copy: Marks;
  program: Marks;
  /** A program was there, or may have been. */
  executed: boolean;
  /** A mark at or after the end of the interval has been read. */
  known: boolean;
  /** A mark stands in for it that was read before its process fell asleep. */
  asleep: boolean;
  /** Of a program that was replaced the mark is lost. */
  unknown: boolean;
}

interface Interval {
  readonly from: number;
  readonly to: number;
  readonly caps: ReadonlyMap<Life, Cap>;
}

interface OpenInterval extends Interval {
  to: number;
  readonly caps: Map<Life, Cap>;
}

/** One process of the job. */
interface Life {
  readonly pid: number;
  root: boolean;
  readonly born: number;
  /** Where its life begins if it never executes anything. */
  readonly copyFrom: number;
  died: number | null;
  executed: boolean;
  replaced: boolean;
  /** An exec event has come since the last reading. */
  execTold: boolean;
  image: number;
  /** Its program's address space mark as read last: exact, and never falls. */
  vmem: number;
  /** The last fork event of each of its threads. */
  readonly forks: Map<number, number>;
}

export interface UpperEnds {
  /** The job's first process; its fork, if seen, begins the lineage. */
  root(pid: number): void;
  /** Events of any processes, in any order; those of other jobs are left out. */
  events(events: readonly LifeEvent[]): void;
  /** Readings of one sweep of the job's processes, after all events until its end have been given. */
  sweep(sweep: Sweep): void;
  open(reason: OpenReason): void;
  /** Pids of processes other than the first that replaced a program. */
  replacers(): ReadonlySet<number>;
  /** Distinct processes of the lineage so far. */
  seen(): number;
  /** The ends as known now: of a running job, until the sweep before its last; an exec may have been going on in that. */
  result(bounds: UnknownBounds): UpperResult;
  /** For a successor, which has not heard the events in between. */
  save(): unknown;
}

/** What bounds programs whose marks are lost, in bytes; Infinity: nothing. */
export interface UnknownBounds {
  readonly addressSpace: number;
  /** `ru_maxrss` with its slack: for the first process, and for the others if it covers them. */
  readonly rootRss: number;
  readonly othersRss: number;
}

export interface UpperResult {
  /** null: open. */
  readonly rss: number | null;
  readonly vmem: number | null;
  readonly processVmem: number | null;
  readonly openRss: readonly OpenReason[];
  readonly openVmem: readonly OpenReason[];
  readonly openProcessVmem: readonly OpenReason[];
  /** Where the end rests on a bound instead of a mark that is lost: `ru_maxrss`, or the address space limit. */
  readonly rssByMaxRss: boolean;
  readonly rssByLimit: boolean;
  readonly vmemByLimit: boolean;
  readonly processVmemByLimit: boolean;
}

/** Intervals kept for copies that may still execute something; then the oldest counts them as they are. */
const MOST_WAITING = 24;
/** An interval is left alone until the sweep after the next one: that may tell of an exec in progress. */
const SETTLE_AFTER = 2;
const NOTHING: Marks = { rss: 0, vmem: 0 };

const larger = (a: Marks, b: Marks): Marks => ({ rss: Math.max(a.rss, b.rss), vmem: Math.max(a.vmem, b.vmem) });

/** What a process counts in an interval; null: nothing. */
function worthOf(life: Life, cap: Cap, interval: Interval): Marks | null {
  // Before its birth only the copy in the making can have been there.
  if (life.born > interval.to) return life.executed ? null : cap.copy;
  if (cap.unknown || cap.executed) return cap.program;
  return life.executed ? null : cap.copy;
}

interface Moment {
  readonly at: number;
  readonly begins: boolean;
  readonly life: Life;
  readonly marks: Marks;
  readonly unknown: boolean;
}

function momentsOf(interval: Interval): readonly Moment[] {
  const moments: Moment[] = [];
  for (const [life, cap] of interval.caps) {
    const marks = worthOf(life, cap, interval);
    if (marks === null) continue;
    const asCopy = !cap.executed && !cap.unknown;
    const from = Math.max(interval.from, asCopy ? Math.min(life.born, life.copyFrom) : life.born);
    const to = Math.max(from, Math.min(life.died ?? interval.to, interval.to));
    moments.push({ at: from, begins: true, life, marks, unknown: cap.unknown });
    moments.push({ at: to, begins: false, life, marks, unknown: cap.unknown });
  }
  // Of two at one moment the beginning first: nothing is known of their order.
  return moments.sort((a, b) => a.at - b.at || Number(b.begins) - Number(a.begins));
}

class Sums {
  readonly byUnknowns = new Map<string, Sum>();
  largestVmem = 0;
  unknownVmem = false;

  add(interval: Interval): void {
    let rss = 0;
    let vmem = 0;
    let root = 0;
    let others = 0;
    const unknown = new Map<Life, Marks>();
    for (const { begins, life, marks, unknown: isUnknown } of momentsOf(interval)) {
      const sign = begins ? 1 : -1;
      if (isUnknown) {
        if (life.root) root += sign;
        else others += sign;
        if (begins) unknown.set(life, marks);
        else unknown.delete(life);
        this.unknownVmem = true;
      } else {
        rss += sign * marks.rss;
        vmem += sign * marks.vmem;
      }
      this.largestVmem = Math.max(this.largestVmem, marks.vmem);
      if (begins) this.raise({ root, others, rss, vmem, ...largestOf(unknown) });
    }
  }

  raise(sum: Sum): void {
    const key = `${sum.root}.${sum.others}`;
    const known = this.byUnknowns.get(key);
    if (known === undefined) this.byUnknowns.set(key, sum);
    else {
      known.rss = Math.max(known.rss, sum.rss);
      known.vmem = Math.max(known.vmem, sum.vmem);
      known.unknownRss = Math.max(known.unknownRss, sum.unknownRss);
      known.unknownVmem = Math.max(known.unknownVmem, sum.unknownVmem);
    }
  }

  copy(): Sums {
    const copy = new Sums();
    copy.largestVmem = this.largestVmem;
    copy.unknownVmem = this.unknownVmem;
    for (const [key, sum] of this.byUnknowns) copy.byUnknowns.set(key, { ...sum });
    return copy;
  }
}

function largestOf(unknown: ReadonlyMap<Life, Marks>): { unknownRss: number; unknownVmem: number } {
  let marks = NOTHING;
  for (const other of unknown.values()) marks = larger(marks, other);
  return { unknownRss: marks.rss, unknownVmem: marks.vmem };
}

interface Saved {
  readonly sums: readonly (readonly [string, Sum])[];
  readonly largestVmem: number;
  readonly unknownVmem: boolean;
  readonly reasons: readonly OpenReason[];
  readonly seen: number;
  readonly rootPid: number | null;
}

/** Starts with nothing known; `saved` continues the work of another sampler process. */
export function newUpperEnds(saved: unknown = null): UpperEnds {
  const state = saved as Saved | null;
  const living = new Map<number, Life>();
  const sums = new Sums();
  const reasons = new Set<OpenReason>(state?.reasons ?? []);
  const replacers = new Set<number>();
  let later: LifeEvent[] = [];
  /** Index of the first in `later` that has not been taken. */
  let next = 0;
  let intervals: OpenInterval[] = [];
  let current: OpenInterval = { from: -Infinity, to: Infinity, caps: new Map() };
  let seen = state?.seen ?? 0;
  let rootPid: number | null = state?.rootPid ?? null;
  let rootSeen = false;
  if (state !== null) {
    for (const [key, sum] of state.sums) sums.byUnknowns.set(key, { ...sum });
    sums.largestVmem = state.largestVmem;
    sums.unknownVmem = state.unknownVmem;
  }

  function capOf(interval: OpenInterval, life: Life): Cap {
    let cap = interval.caps.get(life);
    if (cap === undefined) {
      cap = { copy: NOTHING, program: NOTHING, executed: false, known: false, asleep: false, unknown: false };
      interval.caps.set(life, cap);
    }
    return cap;
  }

  function begin(pid: number, born: number, copyFrom: number, executed: boolean): Life {
    const life: Life = {
      pid,
      root: pid === rootPid,
      born,
      copyFrom: Math.min(born, copyFrom),
      died: null,
      executed,
      replaced: false,
      execTold: false,
      image: 0,
      vmem: 0,
      forks: new Map(),
    };
    living.set(pid, life);
    capOf(current, life);
    seen++;
    return life;
  }

  /**
   * The mark of a program is lost that lived in the running interval, or in one of the `back` before it, or in an older
   * one that still waits for a mark: what is read from now on is another program's.
   */
  function lose(life: Life, back: number): void {
    life.replaced = true;
    if (!life.root) replacers.add(life.pid);
    const all = [...intervals, current];
    for (const [index, interval] of all.entries()) {
      const cap = interval.caps.get(life);
      if (cap !== undefined && (index >= intervals.length - back || !cap.known)) cap.unknown = true;
    }
  }

  /** Marks read at or after the end of every closed interval that still waits for some of this process. */
  function settle(life: Life, marks: Marks, executed: boolean): void {
    for (const interval of [...intervals, current]) {
      const cap = interval.caps.get(life);
      if (cap === undefined || cap.known) continue;
      if (executed) {
        cap.program = larger(cap.program, marks);
        cap.executed = true;
      } else cap.copy = larger(cap.copy, marks);
      cap.known = interval !== current || life.died !== null;
    }
  }

  function fork(at: number, parent: Life | undefined, child: number, thread: number): void {
    const known = parent?.forks.get(thread) ?? parent?.born ?? at;
    parent?.forks.set(thread, at);
    if (child === rootPid) rootSeen = true;
    const life = begin(child, at, known, false);
    // The copy may have been in the making before the last sweep began.
    const before = intervals.at(-1);
    if (before !== undefined && known < before.to) capOf(before, life);
  }

  function take(event: LifeEvent): void {
    if (event.kind === 'fork') {
      const parent = living.get(event.parent);
      const ours = parent !== undefined || event.child === rootPid;
      if (ours && !living.has(event.child)) fork(event.at, parent, event.child, event.thread);
      return;
    }
    const life = living.get(event.pid);
    if (life === undefined) return;
    if (event.kind === 'exec') {
      if (life.executed) lose(life, 1);
      life.executed = true;
      life.execTold = true;
      life.vmem = 0;
      return;
    }
    // Killed in the middle of an exec: nothing tells of that, and the record is of the program that never ran.
    if (life.executed && event.marks !== null && event.marks.vmem < life.vmem) lose(life, 1);
    life.died = event.at;
    living.delete(event.pid);
    if (event.marks === null) {
      reasons.add('no-exit-records');
      settle(life, NOTHING, life.executed);
    } else settle(life, event.marks, life.executed);
  }

  /** A process of the job that no fork explains: it lived before the events were heard, or came in some other way. */
  function adopted({ pid, forkedNoExec }: SweepReading): Life {
    reasons.add(rootSeen && pid !== rootPid ? 'unknown-origin' : 'start-gap');
    const since = intervals.at(-1)?.from ?? current.from;
    const life = begin(pid, since, since, !forkedNoExec);
    const closing = intervals.at(-1);
    if (closing !== undefined) capOf(closing, life);
    return life;
  }

  /** For the interval that has just ended, until the process is read again. */
  function takeForAsleep(life: Life, marks: Marks): void {
    const closed = intervals.at(-1);
    const cap = closed?.caps.get(life);
    if (cap === undefined) return;
    cap.program = larger(cap.program, marks);
    cap.executed = true;
    cap.asleep = true;
  }

  function takeReading(reading: SweepReading): void {
    const life = living.get(reading.pid) ?? adopted(reading);
    if (reading.asleep === true) {
      takeForAsleep(life, reading);
      return;
    }
    const changed = life.image !== 0 && reading.image !== 0 && reading.image !== life.image;
    if (changed && life.executed && !life.execTold) lose(life, 2);
    life.image = reading.image;
    life.vmem = reading.vmem;
    life.execTold = false;
    settle(life, reading, !reading.forkedNoExec);
  }

  function waits(interval: Interval): boolean {
    for (const [life, cap] of interval.caps)
      if (life.died === null && (!cap.known || (!cap.executed && !life.executed))) return true;
    return false;
  }

  /** Somebody lived to the end of it, and no sweep has read him since: he left the job's tree, say. */
  function lacksReading(interval: Interval): boolean {
    for (const [life, cap] of interval.caps)
      if (life.died === null && !cap.known && !cap.asleep && life.born <= interval.to) return true;
    return false;
  }

  /** Nobody has looked again at one that was asleep, though long enough for that. */
  function wasNeverReadAgain(interval: Interval): boolean {
    for (const [life, cap] of interval.caps) if (life.died === null && !cap.known && cap.asleep) return true;
    return false;
  }

  function closeSettled(): void {
    const settled = intervals.length - SETTLE_AFTER;
    intervals = intervals.filter((interval, index) => {
      if (index >= settled || (waits(interval) && intervals.length - index <= MOST_WAITING)) return true;
      if (lacksReading(interval) || wasNeverReadAgain(interval)) reasons.add('failed-read');
      sums.add(interval);
      return false;
    });
  }

  function takeUntil(at: number): void {
    for (let event = later[next]; event !== undefined && event.at <= at; event = later[next]) {
      next++;
      take(event);
    }
  }

  return {
    root: (pid) => {
      rootPid = pid;
    },
    events: (given) => {
      for (const event of given) later.push(event);
    },
    sweep: (swept) => {
      later.sort((a, b) => a.at - b.at);
      takeUntil(swept.begin);
      current.to = swept.begin;
      intervals.push(current);
      current = { from: swept.begin, to: Infinity, caps: new Map() };
      for (const life of living.values()) capOf(current, life);
      for (const reading of swept.readings) {
        takeUntil(reading.at);
        takeReading(reading);
      }
      takeUntil(Infinity);
      later = [];
      next = 0;
      closeSettled();
    },
    open: (reason) => {
      reasons.add(reason);
    },
    replacers: () => replacers,
    seen: () => seen,
    result: (bounds) => {
      const all = sums.copy();
      for (const interval of [...intervals, current]) all.add(interval);
      return resultOf(all, bounds, intervals.some(lacksReading) ? new Set([...reasons, 'failed-read']) : reasons);
    },
    save: (): Saved => {
      const all = sums.copy();
      for (const interval of [...intervals, current]) all.add(interval);
      return {
        sums: [...all.byUnknowns],
        largestVmem: all.largestVmem,
        unknownVmem: all.unknownVmem,
        reasons: [...reasons, 'listener-lost'],
        seen,
        rootPid,
      };
    },
  };
}

function resultOf(sums: Sums, bounds: UnknownBounds, reasons: ReadonlySet<OpenReason>): UpperResult {
  const rootRss = Math.min(bounds.addressSpace, bounds.rootRss);
  const othersRss = Math.min(bounds.addressSpace, bounds.othersRss);
  /** Nothing times an infinite bound is nothing. */
  const times = (count: number, bytes: number): number => (count === 0 ? 0 : count * bytes);
  let rss = { bytes: 0, byMaxRss: false, byLimit: false };
  let vmem = { bytes: 0, byLimit: false };
  for (const sum of sums.byUnknowns.values()) {
    const parts = [
      { count: sum.root, bound: rootRss, maxRss: bounds.rootRss },
      { count: sum.others, bound: othersRss, maxRss: bounds.othersRss },
    ].filter(({ count }) => count > 0);
    const bytes = parts.reduce((all, { count, bound }) => all + count * Math.max(bound, sum.unknownRss), sum.rss);
    if (bytes > rss.bytes) {
      const bounded = parts.filter(({ bound }) => bound > sum.unknownRss);
      const byLimit = bounded.some(({ maxRss }) => maxRss > bounds.addressSpace);
      rss = { bytes, byMaxRss: bounded.some(({ maxRss }) => maxRss <= bounds.addressSpace), byLimit };
    }
    const unknown = sum.root + sum.others;
    const space = sum.vmem + times(unknown, Math.max(bounds.addressSpace, sum.unknownVmem));
    if (space > vmem.bytes) vmem = { bytes: space, byLimit: unknown > 0 && bounds.addressSpace > sum.unknownVmem };
  }
  const processVmem = sums.unknownVmem ? Math.max(sums.largestVmem, bounds.addressSpace) : sums.largestVmem;
  const end = (value: number): number | null => (reasons.size > 0 || value === Infinity ? null : value);
  const because = (value: number): readonly OpenReason[] =>
    [...new Set([...reasons, ...(value === Infinity ? (['exec'] as const) : [])])].sort();
  return {
    rss: end(rss.bytes),
    vmem: end(vmem.bytes),
    processVmem: end(processVmem),
    openRss: because(rss.bytes),
    openVmem: because(vmem.bytes),
    openProcessVmem: because(processVmem),
    rssByMaxRss: rss.byMaxRss,
    rssByLimit: rss.byLimit,
    vmemByLimit: vmem.byLimit,
    processVmemByLimit: processVmem > sums.largestVmem,
  };
}

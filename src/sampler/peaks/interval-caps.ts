/** High-water marks of one program, or of one copy made by fork, in bytes; `rss` includes its slack. */
export interface HighWaterMarks {
  readonly rss: number;
  readonly vmem: number;
}

export const NOTHING: HighWaterMarks = { rss: 0, vmem: 0 };

const larger = (a: HighWaterMarks, b: HighWaterMarks): HighWaterMarks => ({
  rss: Math.max(a.rss, b.rss),
  vmem: Math.max(a.vmem, b.vmem),
});

/** One process of the job. Times in microseconds of the monotonic clock. */
export class ProcessLife {
  died: number | null = null;
  /** An exec event has come since the last reading. */
  execHeard = false;
  /** It replaced one program by another. */
  replaced = false;
  /** The copy that it was had memory of its own: it counts, even if a program has been executed since. */
  ownMemory = false;
  /** When it was last read, or born. */
  readAt: number;
  image = 0;
  /** Address space mark of its program, as last read: exact, and never falls. */
  vmem = 0;
  /** Time of the last fork event of each of its threads, as long as it is needed. */
  private readonly forks = new Map<number, number>();

  constructor(
    readonly pid: number,
    readonly root: boolean,
    readonly born: number,
    /** When its life begins if it never executes anything. */
    readonly copyFrom: number,
    public executed: boolean,
  ) {
    this.readAt = born;
  }

  /** Takes a fork by one of its threads; returns since when that thread may have been making the copy. */
  takeFork(thread: number, at: number): number {
    const since = this.forks.get(thread) ?? this.born;
    this.forks.set(thread, at);
    return since;
  }

  /** Forgets forks up to `from`, the start of the oldest interval in which copies of coming fork events may count. */
  forgetForks(from: number): void {
    // Its birth stands in for forgotten forks, so it must not be later than `from`.
    if (this.born > from) return;
    for (const [thread, at] of this.forks) if (at <= from) this.forks.delete(thread);
  }
}

/** The most that one process can have held in one interval. */
class Cap {
  copy = NOTHING;
  program = NOTHING;
  /** It ran a program in the interval, or may have. */
  executed = false;
  /** A mark at or after the end of the interval has been read. */
  known = false;
  /** For the time being the cap is a mark that was read before the process fell asleep. */
  asleep = false;
  /** The mark of a program that an exec replaced is lost. */
  unknown = false;

  take(marks: HighWaterMarks, executed: boolean): void {
    if (executed) {
      this.program = larger(this.program, marks);
      this.executed = true;
    } else this.copy = larger(this.copy, marks);
  }

  /** What counts for `life` in the interval, which ends at `to`; null: nothing. */
  counted(life: ProcessLife, to: number): HighWaterMarks | null {
    const copy = life.executed && !life.ownMemory ? null : this.copy;
    // Before its birth only the copy in the making can have been there.
    if (life.born > to || !(this.unknown || this.executed)) return copy;
    return life.ownMemory ? larger(this.copy, this.program) : this.program;
  }
}

/** A process begins or ceases to count. */
interface Moment {
  readonly at: number;
  readonly begins: boolean;
  readonly life: ProcessLife;
  readonly marks: HighWaterMarks;
  readonly unknown: boolean;
}

/** The time from one sweep to the next, with the cap of each process that lived then. */
export class Interval {
  to = Infinity;
  readonly caps = new Map<ProcessLife, Cap>();

  constructor(readonly from: number) {}

  /** Notes that the process lived in the interval; returns its cap. */
  add(life: ProcessLife): Cap {
    let cap = this.caps.get(life);
    if (cap === undefined) this.caps.set(life, (cap = new Cap()));
    return cap;
  }

  /** Whether marks still to be read may change what this interval counts. */
  waits(): boolean {
    for (const [life, cap] of this.caps)
      if (life.died === null && (!cap.known || (!cap.executed && !life.executed && !life.ownMemory))) return true;
    return false;
  }

  /** Whether a process lived to the interval's end and no sweep has read it since: it left the job's tree, say. */
  lacksReading(): boolean {
    for (const [life, cap] of this.caps)
      if (life.died === null && !cap.known && !cap.asleep && life.born <= this.to) return true;
    return false;
  }

  /** Whether no reading has settled the cap of some process that lives. */
  isUnsettled(): boolean {
    for (const [life, cap] of this.caps)
      if (life.died === null && !cap.known && (cap.asleep || life.born <= this.to)) return true;
    return false;
  }

  /** When the processes begin and cease to count, in order. */
  moments(): readonly Moment[] {
    const moments: Moment[] = [];
    for (const [life, cap] of this.caps) {
      const marks = cap.counted(life, this.to);
      if (marks === null) continue;
      const { unknown } = cap;
      const asCopy = !cap.executed && !unknown;
      const from = Math.max(this.from, asCopy ? Math.min(life.born, life.copyFrom) : life.born);
      const to = Math.max(from, Math.min(life.died ?? this.to, this.to));
      moments.push({ at: from, begins: true, life, marks, unknown }, { at: to, begins: false, life, marks, unknown });
    }
    // At the same moment beginnings come first: the true order is unknown, and the sum must not be too low.
    return moments.sort((a, b) => a.at - b.at || Number(b.begins) - Number(a.begins));
  }
}

/** Most that one program, or one copy made by fork, ever held; bytes, the slack of the resident part added. */
export interface Marks {
  readonly rss: number;
  readonly vmem: number;
}

export const NOTHING: Marks = { rss: 0, vmem: 0 };

const larger = (a: Marks, b: Marks): Marks => ({ rss: Math.max(a.rss, b.rss), vmem: Math.max(a.vmem, b.vmem) });

/** One process of the job. Times in microseconds of the monotonic clock. */
export class Life {
  died: number | null = null;
  /** An exec event has come since the last reading. */
  execHeard = false;
  /** It replaced one program by another. */
  replaced = false;
  image = 0;
  /** Its program's address space mark as read last: exact, and never falls. */
  vmem = 0;
  /** The last fork event of each of its threads, as far as they matter. */
  private readonly forks = new Map<number, number>();

  constructor(
    readonly pid: number,
    readonly root: boolean,
    readonly born: number,
    /** Where its life begins if it never executes anything. */
    readonly copyFrom: number,
    public executed: boolean,
  ) {}

  /** Takes a fork by one of its threads, and tells since when that thread may have been making it. */
  takeFork(thread: number, at: number): number {
    const since = this.forks.get(thread) ?? this.born;
    this.forks.set(thread, at);
    return since;
  }

  /** Forgets forks before `from`, the start of the oldest interval in which a copy still to be told of may count. */
  forgetForks(from: number): void {
    // Its birth, which stands in for them, must be before that, too.
    if (this.born > from) return;
    for (const [thread, at] of this.forks) if (at <= from) this.forks.delete(thread);
  }
}

/** The most that one process can have held in one interval. */
class Cap {
  copy = NOTHING;
  program = NOTHING;
  /** A program was there, or may have been. */
  executed = false;
  /** A mark at or after the end of the interval has been read. */
  known = false;
  /** A mark stands in for it that was read before its process fell asleep. */
  asleep = false;
  /** Of a program that was replaced the mark is lost. */
  unknown = false;

  take(marks: Marks, executed: boolean): void {
    if (executed) {
      this.program = larger(this.program, marks);
      this.executed = true;
    } else this.copy = larger(this.copy, marks);
  }

  /** What `life` counts until `to`, the interval's end; null: nothing. */
  counted(life: Life, to: number): Marks | null {
    // Before its birth only the copy in the making can have been there.
    if (life.born > to) return life.executed ? null : this.copy;
    if (this.unknown || this.executed) return this.program;
    return life.executed ? null : this.copy;
  }
}

/** A process begins or ceases to count. */
interface Moment {
  readonly at: number;
  readonly begins: boolean;
  readonly life: Life;
  readonly marks: Marks;
  readonly unknown: boolean;
}

/** The time from one sweep to the next, with the cap of each process that lived then. */
export class Interval {
  to = Infinity;
  readonly caps = new Map<Life, Cap>();

  constructor(readonly from: number) {}

  /** The process lived in it. */
  add(life: Life): Cap {
    let cap = this.caps.get(life);
    if (cap === undefined) this.caps.set(life, (cap = new Cap()));
    return cap;
  }

  /** Marks that may yet be read decide what this interval counts. */
  waits(): boolean {
    for (const [life, cap] of this.caps)
      if (life.died === null && (!cap.known || (!cap.executed && !life.executed))) return true;
    return false;
  }

  /** A process lived to the end of it, and no sweep has read it since: it left the job's tree, say. */
  lacksReading(): boolean {
    for (const [life, cap] of this.caps)
      if (life.died === null && !cap.known && !cap.asleep && life.born <= this.to) return true;
    return false;
  }

  /** A process of it lives whose cap no reading has settled. */
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
    // Of two at one moment the beginning first: nothing is known of their order.
    return moments.sort((a, b) => a.at - b.at || Number(b.begins) - Number(a.begins));
  }
}

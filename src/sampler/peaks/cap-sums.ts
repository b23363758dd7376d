import { boolean, integer, list, number, object, type ValueOf } from '../../base/shape';
import type { BracketSource, OpenReason } from '../../record/record';
import type { Interval, ProcessLife, HighWaterMarks } from './interval-caps';
import type { UpperEnd } from './peaks';

/** The largest sums of caps over all moments with the same numbers of unknown processes (upper-ends.ts). */
const SUM = object({
  /** 1 if the job's first process is unknown, and how many others are. */
  root: integer(0),
  others: integer(0),
  /** Sums over the known processes. */
  rss: number(0),
  vmem: number(0),
  /** The largest cap of an unknown process: what its later program was seen to hold. */
  unknownRss: number(0),
  unknownVmem: number(0),
});
type Sum = { -readonly [Name in keyof ValueOf<typeof SUM>]: number };

export const SAVED_CAP_SUMS = object({
  sums: list(SUM, 2 ** 22),
  largestVmem: number(0),
  unknownVmem: boolean,
});
type SavedCapSums = ValueOf<typeof SAVED_CAP_SUMS>;

/** Upper bounds of programs whose marks are lost, in bytes; Infinity: none. */
export interface UnknownBounds {
  readonly addressSpace: number;
  /** `ru_maxrss` with its slack: for the first process, and for the others if it covers them. */
  readonly rootRss: number;
  readonly othersRss: number;
}

export type UpperResult = Readonly<Record<'rss' | 'vmem' | 'processVmem', UpperEnd>>;

/** A sum, and what replaces lost marks in it: `ru_maxrss` ("usage"), or the address space limit ("limit"). */
interface BoundedSum {
  readonly bytes: number;
  readonly sources: readonly BracketSource[];
}

/** The largest sums of caps over all moments of the intervals that were added. */
export class CapSums {
  private readonly byUnknowns = new Map<string, Sum>();
  private largestVmem: number;
  private unknownVmem: boolean;

  constructor(saved: SavedCapSums | null = null) {
    for (const sum of saved?.sums ?? []) this.raise(sum);
    this.largestVmem = saved?.largestVmem ?? 0;
    this.unknownVmem = saved?.unknownVmem ?? false;
  }

  add(interval: Interval): void {
    let rss = 0;
    let vmem = 0;
    let root = 0;
    let others = 0;
    const unknown = new Map<ProcessLife, HighWaterMarks>();
    for (const { begins, life, marks, unknown: isUnknown } of interval.moments()) {
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
      if (!begins) continue;
      let unknownRss = 0;
      let unknownVmem = 0;
      for (const other of unknown.values()) {
        unknownRss = Math.max(unknownRss, other.rss);
        unknownVmem = Math.max(unknownVmem, other.vmem);
      }
      this.raise({ root, others, rss, vmem, unknownRss, unknownVmem });
    }
  }

  private raise(sum: Readonly<Sum>): void {
    const key = `${sum.root}.${sum.others}`;
    const known = this.byUnknowns.get(key);
    if (known === undefined) {
      this.byUnknowns.set(key, { ...sum });
      return;
    }
    known.rss = Math.max(known.rss, sum.rss);
    known.vmem = Math.max(known.vmem, sum.vmem);
    known.unknownRss = Math.max(known.unknownRss, sum.unknownRss);
    known.unknownVmem = Math.max(known.unknownVmem, sum.unknownVmem);
  }

  /** For a successor, and for making a copy. */
  save(): SavedCapSums {
    return {
      sums: [...this.byUnknowns.values()].map((sum) => ({ ...sum })),
      largestVmem: this.largestVmem,
      unknownVmem: this.unknownVmem,
    };
  }

  /** The upper bounds, with `bounds` in place of lost marks; all are open if there are any `reasons`. */
  result(bounds: UnknownBounds, reasons: ReadonlySet<OpenReason>): UpperResult {
    const rootRss = Math.min(bounds.addressSpace, bounds.rootRss);
    const othersRss = Math.min(bounds.addressSpace, bounds.othersRss);
    /** Zero times Infinity is 0 here. */
    const times = (count: number, bytes: number): number => (count === 0 ? 0 : count * bytes);
    const limit = (needed: boolean): readonly BracketSource[] => (needed ? ['limit'] : []);
    let rss: BoundedSum = { bytes: 0, sources: [] };
    let vmem: BoundedSum = { bytes: 0, sources: [] };
    for (const sum of this.byUnknowns.values()) {
      const parts = [
        { count: sum.root, bound: rootRss, maxRss: bounds.rootRss },
        { count: sum.others, bound: othersRss, maxRss: bounds.othersRss },
      ].filter(({ count }) => count > 0);
      const bytes = parts.reduce((all, { count, bound }) => all + count * Math.max(bound, sum.unknownRss), sum.rss);
      if (bytes > rss.bytes) {
        const bounded = parts.filter(({ bound }) => bound > sum.unknownRss);
        rss = { bytes, sources: bounded.map(({ maxRss }) => (maxRss <= bounds.addressSpace ? 'usage' : 'limit')) };
      }
      const unknown = sum.root + sum.others;
      const space = sum.vmem + times(unknown, Math.max(bounds.addressSpace, sum.unknownVmem));
      const isLimit = unknown > 0 && bounds.addressSpace > sum.unknownVmem;
      if (space > vmem.bytes) vmem = { bytes: space, sources: limit(isLimit) };
    }
    const processVmem = this.unknownVmem ? Math.max(this.largestVmem, bounds.addressSpace) : this.largestVmem;
    const end = ({ bytes, sources }: BoundedSum): UpperEnd => {
      const open = new Set(reasons);
      if (bytes === Infinity) open.add('exec');
      return {
        bytes: open.size > 0 ? null : bytes,
        open: [...open].sort(),
        sources: ['mark', 'exit-record', ...sources],
      };
    };
    return {
      rss: end(rss),
      vmem: end(vmem),
      processVmem: end({ bytes: processVmem, sources: limit(processVmem > this.largestVmem) }),
    };
  }
}

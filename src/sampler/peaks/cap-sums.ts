import { boolean, integer, list, number, object, type ValueOf } from '../../base/shape';
import type { OpenReason } from '../../record/record';
import type { Interval, Life, Marks } from './interval-caps';

/** The largest sums of caps, by how many of the processes in them are unknown. */
const SUM = object({
  /** The job's first process is one of the unknown, and how many others are. */
  root: integer(0),
  others: integer(0),
  /** Of the processes that are known. */
  rss: number(0),
  vmem: number(0),
  /** The largest cap of an unknown one: what its later program was seen to hold. */
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
    const unknown = new Map<Life, Marks>();
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

  /** Also what a copy is made from. */
  save(): SavedCapSums {
    return {
      sums: [...this.byUnknowns.values()].map((sum) => ({ ...sum })),
      largestVmem: this.largestVmem,
      unknownVmem: this.unknownVmem,
    };
  }

  /** The ends where `bounds` stand in for the marks that are lost; all are open for `reasons`, if there are any. */
  result(bounds: UnknownBounds, reasons: ReadonlySet<OpenReason>): UpperResult {
    const rootRss = Math.min(bounds.addressSpace, bounds.rootRss);
    const othersRss = Math.min(bounds.addressSpace, bounds.othersRss);
    /** Nothing times an infinite bound is nothing. */
    const times = (count: number, bytes: number): number => (count === 0 ? 0 : count * bytes);
    let rss = { bytes: 0, byMaxRss: false, byLimit: false };
    let vmem = { bytes: 0, byLimit: false };
    for (const sum of this.byUnknowns.values()) {
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
    const processVmem = this.unknownVmem ? Math.max(this.largestVmem, bounds.addressSpace) : this.largestVmem;
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
      processVmemByLimit: processVmem > this.largestVmem,
    };
  }
}

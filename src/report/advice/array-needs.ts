import { memoryEnd } from '../../record/cause';
import { STATUSES } from '../../record/fields';
import type { JobRecord } from '../../record/record';
import { requestOf } from '../../record/request';
import { ranWell } from '../../record/job-end';
import {
  adviceOf,
  countedPerSlot,
  HEADROOM,
  isBounded,
  isUnknownPart,
  measure,
  measureAll,
  neededOrMore,
  perSlotOf,
  roundRequest,
  WORTHWHILE,
  type Measured,
} from './advice';
import { wasStoppedByVmem, judgedByVmem } from './fit';

/** From this many tasks on, 1 % of them is at least one task. */
const MANY = 100;

/** What records must have in common to be alike for all advice, besides their kinds and sizes. */
interface Alike {
  readonly requests: Pick<JobRecord, 'h_vmem' | 'request_order'>;
  readonly category: string | null;
  readonly groupLimit: number | null;
  readonly kinds: Kinds;
}

const categoryOf = ({ grid_engine: line }: JobRecord): string | null => line?.category ?? null;
const groupLimitOf = ({ metrics }: JobRecord): number | null => metrics.cgroup_memory_limit_bytes ?? null;

const isAlike = ({ requests, category, groupLimit }: Alike, record: JobRecord): boolean =>
  requests.h_vmem === record.h_vmem &&
  requests.request_order === record.request_order &&
  category === categoryOf(record) &&
  groupLimit === groupLimitOf(record);

const ENDS: readonly unknown[] = [null, false, true, 'execd', 'refusal', 'oom-killer'];

/**
 * A number that says whether a need is known, whether it has an upper bound, and whether Grid Engine counted anything.
 */
const codeOf = ({ need, counted }: Measured): number =>
  (need === null ? 0 : isBounded(need) ? 2 : 4) + Number(counted > 0);

/** A number that differs between records that differ, for any advice, in more than their requests and sizes. */
function kindOf(measured: Measured, underVmem: Measured): number {
  const { record, isStopped } = measured;
  const end = ENDS.indexOf(isStopped ? memoryEnd(record)?.by : ranWell(record));
  const isOpen = (record.peak_process_vmem === null ? 2 : 0) + Number(isUnknownPart(record));
  const known = codeOf(measured) * 8 + codeOf(underVmem);
  return ((STATUSES.indexOf(record.status) * 8 + end) * 8 + isOpen) * 64 + known;
}

/** The number of sizes of which any advice takes the largest. */
const SIZES = 6;

function sizesInto(sizes: Float64Array, measured: Measured, underVmem: Measured): void {
  sizes[0] = perSlotOf(measured);
  sizes[1] = perSlotOf(underVmem);
  sizes[2] = (measured.limit ?? 0) / measured.slots;
  sizes[3] = (underVmem.limit ?? 0) / underVmem.slots;
  sizes[4] = requestOf(measured.record)?.request_bytes ?? 0;
  sizes[5] = countedPerSlot(measured);
}

/** Raises each value of `largest` that a size exceeds; returns whether any was raised. */
function raise(largest: Float64Array, sizes: Float64Array): boolean {
  let isLarger = false;
  for (let index = 0; index < SIZES; index++) {
    const size = sizes[index] ?? 0;
    if (size <= (largest[index] ?? 0)) continue;
    largest[index] = size;
    isLarger = true;
  }
  return isLarger;
}

type Kinds = Map<number, Float64Array>;

/** At most this many groups of alike records are kept for the same `requests`; beyond, each record decides. */
const MOST_ALIKE = 100;

/**
 * What a request must fit, task by task. Of thousands of records few decide: among those that are alike, the ones that
 * are larger in some size than all before.
 */
export class ArrayNeeds {
  /** The records that decide, in their order: any advice on all is the advice on these. */
  readonly decisive: JobRecord[] = [];
  private readonly alike = new Map<JobRecord['requests'], Alike[]>();
  private readonly sizes = new Float64Array(SIZES);
  /** What each task needed per slot, judged by its own request, and judged by h_vmem; Infinity: unknown. */
  private readonly asAsked: number[] = [];
  private readonly underVmem: number[] = [];

  /** `needs`: what a request must fit for one task. */
  add(needs: readonly Measured[]): void {
    let [asAsked, vmem] = [0, 0];
    for (const measured of needs) {
      const other = judgedByVmem(measured.record);
      const measuredThere = other === measured.record ? measured : measure(other);
      asAsked = Math.max(asAsked, neededOrMore(measured));
      vmem = Math.max(vmem, neededOrMore(measuredThere));
      this.weigh(measured, measuredThere);
    }
    this.asAsked.push(asAsked);
    this.underVmem.push(vmem);
  }

  private weigh(measured: Measured, measuredThere: Measured): void {
    const { sizes } = this;
    sizesInto(sizes, measured, measuredThere);
    const kinds = this.kindsOf(measured.record);
    const kind = kindOf(measured, measuredThere);
    const before = kinds.get(kind);
    if (before === undefined) kinds.set(kind, sizes.slice());
    else if (!raise(before, sizes)) return;
    this.decisive.push(measured.record);
  }

  private kindsOf(record: JobRecord): Kinds {
    const { h_vmem, requests, request_order } = record;
    let alike = this.alike.get(requests);
    if (alike === undefined) this.alike.set(requests, (alike = []));
    for (const one of alike) if (isAlike(one, record)) return one.kinds;
    const made: Alike = {
      requests: { h_vmem, request_order },
      category: categoryOf(record),
      groupLimit: groupLimitOf(record),
      kinds: new Map(),
    };
    if (alike.length < MOST_ALIKE) alike.push(made);
    return made.kinds;
  }

  /**
   * The request that would have been enough for 99 of 100 tasks, where it is much less than the one for all; null: it
   * is not, there are too few tasks, or too many of them ran into their limit.
   */
  most(): string | null {
    const count = this.asAsked.length;
    if (count < MANY) return null;
    const all = adviceOf(measureAll(this.decisive), null);
    if (all === null) return null;
    const needed = Float64Array.from(this.decisive.some(wasStoppedByVmem) ? this.underVmem : this.asAsked).sort();
    const most = needed[Math.ceil(count * 0.99) - 1] ?? Infinity;
    if (!Number.isFinite(most)) return null;
    const { bytes, text } = roundRequest(most * HEADROOM);
    return bytes <= (all.totalBytes / all.slots) * WORTHWHILE ? `${all.complex}=${text}` : null;
  }
}

import { memoryEnd } from '../../record/cause';
import type { JobRecord } from '../../record/record';
import { requestOf } from '../../record/request';
import { succeeded } from '../../record/job-end';
import {
  adviceOf,
  HEADROOM,
  isBounded,
  isUnknownPart,
  measure,
  measureAll,
  neededOrMore,
  neededPerSlot,
  perSlotOf,
  roundRequest,
  WORTHWHILE,
  type Measured,
} from './advice';
import { byLimitOf, underVmem } from './fit';

/** Tasks from which on a hundredth of them is a task. */
const MANY = 100;

/** What makes records alike for all advice but for their sizes. */
type Requests = readonly [
  hVmem: JobRecord['h_vmem'],
  requests: JobRecord['requests'],
  order: string | null,
  category: string | null,
  groupLimit: number | null,
];

const requestsOf = ({ h_vmem, requests, request_order, grid_engine: line, metrics }: JobRecord): Requests => [
  h_vmem,
  requests,
  request_order,
  line?.category ?? null,
  metrics.cgroup_memory_limit_bytes ?? null,
];

const knownOf = ({ need, counted }: Measured): string =>
  `${need === null ? 'none' : isBounded(need) ? 'bounded' : 'open'} ${counted > 0}`;

function kindOf(record: JobRecord, measured: Measured, measuredThere: Measured): string {
  const end = measured.isStopped ? memoryEnd(record)?.by : succeeded(record);
  const space = record.peak_process_vmem === null;
  return `${record.status} ${end} ${space} ${isUnknownPart(record)} ${knownOf(measured)} ${measured === measuredThere ? '' : knownOf(measuredThere)}`;
}

type Sizes = readonly number[];

/**
 * What a request must fit, task by task. Of thousands of records few decide: of those that are alike the ones that are
 * larger, in something, than all before.
 */
export class ArrayNeeds {
  /** Those that decide, in their order: any advice on all is the advice on these. */
  readonly decisive: JobRecord[] = [];
  private readonly largest = new Map<string, Map<string, Sizes>>();
  private latest: { readonly requests: Requests; readonly kinds: Map<string, Sizes> } | null = null;
  /** What each task needed per slot, as it was asked for, and under h_vmem; Infinity: it is not known. */
  private readonly asAsked: number[] = [];
  private readonly underVmem: number[] = [];

  /** `needs`: what a request must fit, of one task. */
  add(needs: readonly JobRecord[]): void {
    let [asAsked, vmem] = [0, 0];
    for (const record of needs) {
      const measured = measure(record);
      const other = underVmem(record);
      const measuredThere = other === record ? measured : measure(other);
      asAsked = Math.max(asAsked, neededOrMore(measured));
      vmem = Math.max(vmem, neededOrMore(measuredThere));
      this.weigh(record, measured, measuredThere);
    }
    this.asAsked.push(asAsked);
    this.underVmem.push(vmem);
  }

  private weigh(record: JobRecord, measured: Measured, measuredThere: Measured): void {
    const { limit, slots } = measured;
    const sizes: Sizes = [
      perSlotOf(measured),
      perSlotOf(measuredThere),
      (limit ?? 0) / slots,
      (measuredThere.limit ?? 0) / measuredThere.slots,
      requestOf(record)?.request_bytes ?? 0,
      neededPerSlot(record),
    ];
    const kinds = this.kindsOf(record);
    const kind = kindOf(record, measured, measuredThere);
    const before = kinds.get(kind);
    if (before?.every((size, index) => size >= (sizes[index] ?? 0))) return;
    this.decisive.push(record);
    kinds.set(
      kind,
      sizes.map((size, index) => Math.max(size, before?.[index] ?? 0)),
    );
  }

  private kindsOf(record: JobRecord): Map<string, Sizes> {
    const requests = requestsOf(record);
    if (this.latest?.requests.every((part, index) => part === requests[index])) return this.latest.kinds;
    const text = JSON.stringify(requests);
    const kinds = this.largest.get(text) ?? new Map<string, Sizes>();
    this.largest.set(text, kinds);
    this.latest = { requests, kinds };
    return kinds;
  }

  /**
   * What would have held for 99 of 100 tasks, where that is much less than what holds for all; null: it is not, there are
   * too few, or too many of them ran into their limit.
   */
  most(): string | null {
    const count = this.asAsked.length;
    if (count < MANY) return null;
    const all = adviceOf(measureAll(this.decisive), null);
    if (all === null) return null;
    const needed = Float64Array.from(this.decisive.some(byLimitOf) ? this.underVmem : this.asAsked).sort();
    const most = needed[Math.ceil(count * 0.99) - 1] ?? Infinity;
    if (!Number.isFinite(most)) return null;
    const { bytes, text } = roundRequest(most * HEADROOM);
    return bytes <= (all.totalBytes / all.slots) * WORTHWHILE ? `${all.complex}=${text}` : null;
  }
}

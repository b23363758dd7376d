import type { JobRecord } from '../record/record';
import { requestedSeconds } from '../gridengine/category-requests';
import { parseMemorySize } from '../gridengine/memory-size';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../gridengine/qstat/job-list';
import type { LimitState, RequestView } from './cluster-view';

/** The complex whose requests are reserved and enforced. */
export const H_VMEM = 'h_vmem';

/** What one slot (or the job, for a consumable JOB) may use of h_vmem. */
export interface MemoryLimit {
  readonly state: LimitState;
  /** Bytes; null unless limited. */
  readonly bytes: number | null;
}

/**
 * Requests of `complexes`, as the list of jobs tells them (defaults of a complex among them), and as `qstat -j` tells
 * what is missing there; with the bytes that Grid Engine itself computed where it says so.
 */
export function requestViews(
  row: Pick<ListedJob, 'requests'> | null,
  detail: JobDetail | null,
  complexes: ReadonlySet<string>,
): readonly RequestView[] {
  const amounts = new Map(detail?.requests.map((request) => [keyOf(request), request.amount]));
  const views = new Map<string, RequestView>();
  for (const request of [...(row?.requests ?? []), ...(detail?.requests ?? [])]) {
    const { complex, kind, value } = request;
    const key = keyOf(request);
    if (!complexes.has(complex) || views.has(key)) continue;
    views.set(key, { complex, kind, text: value, bytes: bytesOf(value, amounts.get(key) ?? null) });
  }
  return [...views.values()];
}

/** The walltime limit that was requested (h_rt), in seconds; null: none, or it is not known. */
export function timeLimit(row: Pick<ListedJob, 'requests'> | null, detail: JobDetail | null): number | null {
  const hard = [...(row?.requests ?? []), ...(detail?.requests ?? [])].filter(({ kind }) => kind !== 'soft');
  return requestedSeconds(
    hard.map(({ complex, value }) => ({ name: complex, text: value })),
    'h_rt',
  );
}

/** The request of h_vmem that counts: one that was made before the complex's default; soft ones reserve nothing. */
export function hVmemRequest(requests: readonly RequestView[]): RequestView | null {
  const ofKind = (kind: RequestView['kind']): RequestView | null =>
    requests.find((request) => request.complex === H_VMEM && request.kind === kind) ?? null;
  return ofKind('hard') ?? ofKind('default');
}

/** `known`: whether Grid Engine has listed the job's requests, so that no request means no limit. */
export function memoryLimit(requests: readonly RequestView[], known: boolean): MemoryLimit {
  const request = hVmemRequest(requests);
  if (request === null) return { state: known ? 'unlimited' : 'unknown', bytes: null };
  // Grid Engine takes a request of 0 as none.
  if (request.bytes === 0) return { state: 'unlimited', bytes: null };
  if (request.bytes !== null) return { state: 'limited', bytes: request.bytes };
  const parsed = parseMemorySize(request.text);
  return { state: parsed.ok && parsed.value === Infinity ? 'unlimited' : 'unknown', bytes: null };
}

function keyOf({ complex, kind }: RequestText): string {
  return `${kind} ${complex}`;
}

/** Open Cluster Scheduler prints amounts with six digits. */
const PRINTED = 1e-5;

function bytesOf(text: string, amount: number | null): number | null {
  const parsed = parseMemorySize(text);
  const typed = parsed.ok && Number.isFinite(parsed.value) && parsed.value >= 0 ? Math.trunc(parsed.value) : null;
  if (amount === null || !Number.isFinite(amount) || amount < 0) return typed;
  return typed !== null && Math.abs(typed - amount) <= PRINTED * amount ? typed : Math.trunc(amount);
}

/**
 * What h_vmem is counted by, as the samplers' records say: a job's spool tells whether it is consumable JOB, qstat does
 * not. Without any record it is the slot.
 */
export function hVmemPer(records: readonly JobRecord[]): 'slot' | 'job' {
  return records.some(({ h_vmem: request }) => request?.per === 'job') ? 'job' : 'slot';
}

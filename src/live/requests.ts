import { H_VMEM, REQUEST_ORDER } from '../gridengine/memory-complex';
import type { JobRecord } from '../record/record';
import { requestOf } from '../record/request';
import type { RequestRules } from '../record/request-rules';
import { requestedSeconds } from '../gridengine/category-requests';
import { LEAST_ADDRESS_SPACE, type Per } from '../gridengine/memory-request';
import { parseMemorySize } from '../gridengine/memory-size';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob, RequestText } from '../gridengine/qstat/job-list';
import type { LimitState, RequestView } from './cluster-view';

/** The limit by the request that counts, for one slot (for the job, if a consumable JOB; for each host, if HOST). */
export interface MemoryLimit {
  /** null: nothing is requested. */
  readonly complex: string | null;
  readonly state: LimitState;
  /** Bytes; null unless limited. */
  readonly bytes: number | null;
}

/**
 * The requests of `complexes`, from the list of jobs (which includes the defaults of complexes) and from `qstat -j`;
 * with the bytes that Grid Engine itself computed, if it shows them.
 */
export function requestViews(
  row: Pick<ListedJob, 'requests'> | null,
  detail: JobDetail | null,
  complexes: ReadonlySet<string>,
): readonly RequestView[] {
  const amounts = new Map(detail?.requests.map((request) => [keyOf(request), request.amount]));
  const views = new Map<string, RequestView>();
  for (const request of [...(row?.requests ?? []), ...(detail?.requests ?? [])]) {
    const { complex, value } = request;
    const key = keyOf(request);
    if (!complexes.has(complex) || views.has(key)) continue;
    views.set(key, { complex, kind: kindOf(request), text: value, bytes: bytesOf(value, amounts.get(key) ?? null) });
  }
  return [...views.values()];
}

/** The requested walltime limit (h_rt), in seconds; null: none, or not known. */
export function timeLimit(row: Pick<ListedJob, 'requests'> | null, detail: JobDetail | null): number | null {
  const hard = [...(row?.requests ?? []), ...(detail?.requests ?? [])].filter(
    ({ kind, scope }) => kind !== 'soft' && scope === undefined,
  );
  return requestedSeconds(
    hard.map(({ complex, value }) => ({ name: complex, text: value })),
    'h_rt',
  );
}

/**
 * The request that counts, by the order of complexes: the job's own requests go before any complex's default, except
 * that of h_vmem, which Grid Engine enforces like a request. Soft requests reserve nothing, and those of the master or
 * slave tasks do not hold for every slot, so neither count.
 */
export function countedRequest(requests: readonly RequestView[], order: readonly string[]): RequestView | null {
  const made = (complex: string, kind: RequestView['kind']): RequestView | undefined =>
    requests.find((request) => request.complex === complex && request.kind === kind);
  const first = (of: (complex: string) => RequestView | undefined): RequestView | undefined => {
    const known = order.flatMap((complex) => of(complex) ?? []);
    return known.find(({ bytes }) => (bytes ?? 0) > 0) ?? known[0];
  };
  const byDefault = (complex: string): RequestView | undefined => made(complex, 'default');
  return (
    first((complex) => made(complex, 'hard') ?? (complex === H_VMEM ? byDefault(complex) : undefined)) ??
    first(byDefault) ??
    null
  );
}

/** `known`: whether Grid Engine has listed the job's requests, so that no request means no limit. */
export function memoryLimit(
  requests: readonly RequestView[],
  known: boolean,
  order: readonly string[] = REQUEST_ORDER,
): MemoryLimit {
  const request = countedRequest(requests, order);
  if (request === null) {
    const isScoped = requests.some(({ kind }) => kind === 'master' || kind === 'slave');
    return { complex: null, state: known && !isScoped ? 'unlimited' : 'unknown', bytes: null };
  }
  const { complex } = request;
  // Grid Engine takes a request of 0 as none, except that h_vmem=0, even as a default, sets a (tiny) limit.
  if (request.bytes === 0)
    return complex === H_VMEM
      ? { complex, state: 'limited', bytes: LEAST_ADDRESS_SPACE }
      : { complex, state: 'unlimited', bytes: null };
  if (request.bytes !== null) return { complex, state: 'limited', bytes: request.bytes };
  const parsed = parseMemorySize(request.text);
  return { complex, state: parsed.ok && parsed.value === Infinity ? 'unlimited' : 'unknown', bytes: null };
}

/** Bytes that the master task and each slave task request by requests of their own. */
export interface ScopedRequests {
  readonly master: number;
  readonly slave: number;
}

export function scopedRequests(requests: readonly RequestView[], complex: string | null): ScopedRequests {
  const of = (kind: RequestView['kind']): number =>
    requests.find((request) => request.complex === complex && request.kind === kind)?.bytes ?? 0;
  return { master: of('master'), slave: of('slave') };
}

function kindOf({ kind, scope }: RequestText): RequestView['kind'] {
  return kind === 'hard' ? (scope ?? kind) : kind;
}

function keyOf(request: RequestText): string {
  return `${kindOf(request)} ${request.complex}`;
}

/** Open Cluster Scheduler prints amounts with six digits. */
const PRINTED = 1e-5;

function bytesOf(text: string, amount: number | null): number | null {
  const parsed = parseMemorySize(text);
  const typed = parsed.ok && Number.isFinite(parsed.value) && parsed.value >= 0 ? Math.trunc(parsed.value) : null;
  if (amount === null || !Number.isFinite(amount) || amount < 0) return typed;
  return typed !== null && Math.abs(typed - amount) <= PRINTED * amount ? typed : Math.trunc(amount);
}

export type PerOf = (complex: string | null) => Per;

/**
 * Whether a complex counts per slot, job or host: by the site's rules, and by the samplers' records, since a job's
 * spool directory, unlike qstat, shows whether a consumable is JOB. Default: per slot.
 */
export function perOf(rules: RequestRules, records: readonly JobRecord[]): PerOf {
  const perJob = new Set(
    records.flatMap((record) => {
      const request = requestOf(record);
      return request?.per === 'job' ? [request.complex] : [];
    }),
  );
  return (complex) => {
    const per = complex === null ? 'slot' : rules.per(complex);
    return per === 'slot' && complex !== null && perJob.has(complex) ? 'job' : per;
  };
}

import { enforcersOf, H_VMEM, REQUEST_ORDER, type Enforcer } from '../gridengine/memory-complex';
import { bytesForSlots, LEAST_ADDRESS_SPACE } from '../gridengine/memory-request';
import type { JobRecord, MemoryRequest } from './record';

/** The request that a record is judged by. */
export interface Request extends MemoryRequest {
  readonly complex: string;
}

/** A request and what enforces it, as JSON shows it. */
export interface EnforcedRequest extends Request {
  /** Empty: the memory is only reserved. */
  readonly enforced_by: readonly Enforcer[];
}

export const REQUEST_HELP =
  'the request that the record is judged by, the first in the order of request_complex; enforced_by: what enforces it, nothing where the memory is only reserved';

export type Requests = Pick<JobRecord, 'h_vmem' | 'requests' | 'request_order'>;

const SEPARATOR = ',';

/** An order of complexes as a record stores it; null: the usual one. */
export function orderText(order: readonly string[]): string | null {
  const text = order.join(SEPARATOR);
  return text === REQUEST_ORDER.join(SEPARATOR) ? null : text;
}

/** The complexes of an order that a record stores. */
export const complexesOf = (order: string | null): readonly string[] =>
  order === null ? REQUEST_ORDER : order.split(SEPARATOR);

function requestFor({ h_vmem, requests }: Requests, complex: string): MemoryRequest | null {
  if (complex === H_VMEM) return h_vmem;
  return Object.hasOwn(requests, complex) ? (requests[complex] ?? null) : null;
}

function firstRequest(record: Requests): Request | null {
  let unlimited: Request | null = null;
  for (const complex of complexesOf(record.request_order)) {
    const asked = requestFor(record, complex);
    if (asked === null) continue;
    if ((asked.limit_bytes ?? 0) > 0) return { complex, ...asked };
    unlimited ??= { complex, ...asked };
  }
  return unlimited;
}

/** The last answer of `requestOf`: array tasks have the same requests, and each is asked about many times. */
let latest: Requests & { readonly request: Request | null } = {
  h_vmem: null,
  requests: {},
  request_order: null,
  request: null,
};

/** The request that a record is judged by; null: none is known. One without a limit counts only if no other has one. */
export function requestOf(record: Requests): Request | null {
  const { h_vmem, requests, request_order } = record;
  if (h_vmem !== latest.h_vmem || requests !== latest.requests || request_order !== latest.request_order)
    latest = { h_vmem, requests, request_order, request: firstRequest(record) };
  return latest.request;
}

/** Bytes that a record's request allows on its host; null: no limit, or none known. */
export function limitOf(record: Requests): number | null {
  return requestOf(record)?.limit_bytes ?? null;
}

/**
 * Whether the job requested less h_vmem than the shepherd sets as a limit, as `h_vmem=4` does for lack of a G, or the
 * complex's default 0: no program runs with that.
 */
export function isBelowAnyProgram({ h_vmem: asked }: Pick<JobRecord, 'h_vmem'>): boolean {
  return asked !== null && asked.request_bytes !== null && asked.request_bytes < LEAST_ADDRESS_SPACE;
}

type OfSlots = Requests & Pick<JobRecord, 'host_slots' | 'slots'>;

const forSlotsOf = ({ host_slots, slots }: OfSlots, bytes: number): number =>
  bytesForSlots(bytes, host_slots ?? slots ?? 1);

/**
 * Bytes of address space that h_vmem allows each process of a record; null: no limit, or none known. A consumable HOST
 * is reserved once on each host, but the shepherd does not know it, and multiplies the request by the slots; of a slave
 * task, Open Cluster Scheduler, which alone has HOST, knows no slots.
 */
export function processLimit(record: OfSlots & Pick<JobRecord, 'pe_task_id'>): number | null {
  const { request_bytes: bytes = null, limit_bytes: limit = null, per } = record.h_vmem ?? {};
  return per === 'host' && bytes !== null && record.pe_task_id === null
    ? forSlotsOf(record, Math.max(bytes, LEAST_ADDRESS_SPACE))
    : limit;
}

/**
 * Bytes with which execd compares what all processes of a record hold on its host; null: no limit, or none known. execd
 * multiplies even a request per job or host by the slots (execd_ck_to_do.c), while the kernel's limit on each process
 * is, per job, the request itself, and never below the shepherd's least (setrlimits.c).
 */
export function execdLimit(record: OfSlots, complex: string = H_VMEM): number | null {
  const asked = requestFor(record, complex);
  const bytes = asked?.request_bytes ?? null;
  return bytes !== null && (asked?.per !== 'slot' || bytes < LEAST_ADDRESS_SPACE)
    ? forSlotsOf(record, bytes)
    : (asked?.limit_bytes ?? null);
}

/** Whether a job's limits are known: a sampler writes them all down, unless it could not use Grid Engine's `config`. */
export function limitsKnown(record: JobRecord): boolean {
  if (record.h_vmem !== null) return true;
  const described = record.trust !== 'accounting' && record.host_slots !== null;
  return described && !record.notes.some((note) => note.startsWith("Grid Engine's config file"));
}

/**
 * The complex that a record is judged by; without a request the one that should be requested: where the site has an order
 * of its own, the first in it by which memory is reserved.
 */
export function complexOf(record: Requests): string {
  const { request_order: order } = record;
  return requestOf(record)?.complex ?? (order === null ? H_VMEM : complexToAskFor(complexesOf(order)));
}

const complexToAskFor = (order: readonly string[]): string =>
  order.find((complex) => enforcersOf(complex).length === 0) ?? order[0] ?? H_VMEM;

/** A record with another limit in the request that it is judged by; unchanged if it has no request. */
export function withLimit<T extends Requests>(record: T, limit: number | null): T {
  const request = requestOf(record);
  if (request === null) return record;
  const { complex, ...asked } = request;
  const changed = { ...asked, limit_bytes: limit };
  return complex === H_VMEM
    ? { ...record, h_vmem: changed }
    : { ...record, requests: { ...record.requests, [complex]: changed } };
}

/** Tolerance of the comparison: limits of a cgroup are whole pages. */
const PAGES = 0.01;

/** Whether the limit of the job's cgroup is `limit`. */
export function limitsCgroup({ metrics }: Pick<JobRecord, 'metrics'>, limit: number): boolean {
  const ofGroup = metrics.cgroup_memory_limit_bytes;
  return ofGroup !== undefined && Math.abs(ofGroup - limit) <= PAGES * limit;
}

/** The request and what enforces it: whatever enforces its complex, and the job's cgroup if that has the same limit. */
export function enforcedRequest(record: Requests & Pick<JobRecord, 'metrics'>): EnforcedRequest | null {
  const request = requestOf(record);
  if (request === null) return null;
  const byGroup = request.limit_bytes !== null && limitsCgroup(record, request.limit_bytes);
  const enforcers = new Set([...enforcersOf(request.complex), ...(byGroup ? (['cgroup'] as const) : [])]);
  return { ...request, enforced_by: [...enforcers] };
}

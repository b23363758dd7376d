import { categoryRequests } from '../../gridengine/category-requests';
import { H_VMEM } from '../../gridengine/memory-complex';
import { scaleRequest } from '../../gridengine/memory-request';
import type { MemoryRequest } from '../../record/record';
import type { RequestRules } from '../../record/request-rules';

export interface LineRequests {
  readonly h_vmem: MemoryRequest | null;
  readonly requests: Readonly<Record<string, MemoryRequest>>;
}

export const NO_REQUESTS: LineRequests = { h_vmem: null, requests: {} };

/** What a job requested by its category; the limits are for all its slots together. */
export function lineRequests(category: string, slots: number, rules: RequestRules): LineRequests {
  const found = new Map<string, MemoryRequest>();
  for (const { name, text } of categoryRequests(category)) {
    if (!rules.recorded.has(name)) continue;
    const request = scaleRequest(name, { text, per: rules.per(name) }, slots);
    if (request.state !== 'limited') continue;
    found.set(name, { request_bytes: request.requestBytes, limit_bytes: request.limitBytes, per: request.per });
  }
  const hVmem = found.get(H_VMEM) ?? null;
  found.delete(H_VMEM);
  if (hVmem === null && found.size === 0) return NO_REQUESTS;
  return { h_vmem: hVmem, requests: found.size === 0 ? NO_REQUESTS.requests : Object.fromEntries(found) };
}

import { categoryRequests } from '../../gridengine/category-requests';
import { scaleRequest } from '../../gridengine/memory-request';
import type { MemoryRequest } from '../../record/record';
import { DEFAULT_SETTINGS } from '../../record/settings';

/** How the resources in a category are to be read. */
export interface RequestRules {
  /** Complexes that are recorded beside h_vmem. */
  readonly complexes: readonly string[];
  /** Complexes that are asked for per job, not per slot (consumable JOB). */
  readonly perJob: readonly string[];
}

/** `mem_limit` goes to a job's systemd unit as it was typed. */
export const USUAL_RULES: RequestRules = { complexes: DEFAULT_SETTINGS.memory_complexes, perJob: ['mem_limit'] };

export interface LineRequests {
  readonly h_vmem: MemoryRequest | null;
  readonly requests: Readonly<Record<string, MemoryRequest>>;
}

export const NO_REQUESTS: LineRequests = { h_vmem: null, requests: {} };

/** What a job of `slots` slots asked for by its category, for all of them together. */
export function lineRequests(category: string, slots: number, rules: RequestRules): LineRequests {
  const found = new Map<string, MemoryRequest>();
  for (const { name, text } of categoryRequests(category)) {
    if (name !== 'h_vmem' && !rules.complexes.includes(name)) continue;
    const request = scaleRequest(name, { text, perJob: rules.perJob.includes(name) }, slots);
    if (request.state !== 'limited') continue;
    found.set(name, { request_bytes: request.requestBytes, limit_bytes: request.limitBytes, per: request.per });
  }
  const hVmem = found.get('h_vmem') ?? null;
  found.delete('h_vmem');
  if (hVmem === null && found.size === 0) return NO_REQUESTS;
  return { h_vmem: hVmem, requests: found.size === 0 ? NO_REQUESTS.requests : Object.fromEntries(found) };
}

import { MIB } from '../base/units';
import { H_VMEM } from './memory-complex';
import { parseMemorySize } from './memory-size';
import type { ResourceLimit, SpoolConfig } from './spool-config';

/** LIMIT_VMEM_MIN in the shepherd's setrlimits.h: with less it could not start the job; applied before the slots. */
export const LEAST_ADDRESS_SPACE = 10 * MIB;

/** What gets a request once: each slot, the job (on its master's host), or each of its hosts. */
export const PERS = ['slot', 'job', 'host'] as const;
export type Per = (typeof PERS)[number];

/** What a job may use of one memory complex on one host. */
export interface MemoryRequest {
  readonly complex: string;
  /** What the text means; `unreadable` is a value that Grid Engine itself cannot read. */
  readonly state: 'limited' | 'unlimited' | 'unreadable';
  /** Bytes per slot, job or host, as `per` says; null unless limited. */
  readonly requestBytes: number | null;
  /**
   * Bytes on this host: the request times its slots, or the request itself for a consumable JOB or HOST; null unless limited.
   */
  readonly limitBytes: number | null;
  readonly per: Per;
}

/**
 * The memory complexes that `config` has, in the order asked for. Others (`mem_free`, a site's own) are never there;
 * the accounting category or qstat has them. `requestBytes` is 0 where a managed consumable with default 0 was not
 * requested. `isPerHost`: whether a complex is a consumable HOST, which `config` does not show.
 */
export function memoryRequests(
  config: SpoolConfig,
  complexes: readonly string[],
  isPerHost: (complex: string) => boolean = () => false,
): readonly MemoryRequest[] {
  return complexes.flatMap((complex) => {
    const limit = limitOf(config, complex);
    if (limit === null) return [];
    const per = limit.per === 'slot' && isPerHost(complex) ? 'host' : limit.per;
    return [scaleRequest(complex, { ...limit, per }, config.hostSlots ?? 1)];
  });
}

/** `mem_limit` goes to the job's systemd unit as it was typed, not times the slots. */
function limitOf(config: SpoolConfig, complex: string): ResourceLimit | null {
  if (complex === 'mem_limit') return config.memLimit === null ? null : { text: config.memLimit, per: 'job' };
  return config.limits.get(complex) ?? null;
}

/** Larger sizes are taken for this one: nobody types them on purpose, and they would be no safe integers. */
const MOST_BYTES = Number.MAX_SAFE_INTEGER;

/** What a request of `bytes` per slot allows on `slots` slots. */
export function bytesForSlots(bytes: number, slots: number): number {
  return Math.min(bytes * slots, MOST_BYTES);
}

/** What a request of a complex allows on `slots` slots: h_vmem=0 does not mean "nothing", and sets a limit, too. */
export function limitForSlots(complex: string, bytes: number, slots: number): number {
  return bytesForSlots(complex === H_VMEM ? Math.max(bytes, LEAST_ADDRESS_SPACE) : bytes, slots);
}

/**
 * One request of any complex, from wherever its text comes, scaled as Grid Engine scales it for a host with `slots`
 * slots.
 */
export function scaleRequest(complex: string, limit: ResourceLimit, slots: number): MemoryRequest {
  const parsed = parseMemorySize(limit.text);
  const base = { complex, per: limit.per };
  if (!parsed.ok || parsed.value < 0) return { ...base, state: 'unreadable', requestBytes: null, limitBytes: null };
  if (!Number.isFinite(parsed.value)) return { ...base, state: 'unlimited', requestBytes: null, limitBytes: null };
  const bytes = Math.min(Math.trunc(parsed.value / (limit.isMultiplied === true ? slots : 1)), MOST_BYTES);
  return {
    ...base,
    state: 'limited',
    requestBytes: bytes,
    limitBytes: limitForSlots(complex, bytes, limit.per === 'slot' ? slots : 1),
  };
}

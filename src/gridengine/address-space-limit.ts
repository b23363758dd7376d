import { parseMemorySize } from './memory-size';
import type { ResourceLimit, SpoolConfig } from './spool-config';

/**
 * RLIMIT_AS of each process of a job, bytes: Infinity is unlimited, null unknown (absent or unreadable in `config`).
 */
export interface AddressSpaceLimit {
  readonly soft: number | null;
  readonly hard: number | null;
}

/** LIMIT_VMEM_MIN in the shepherd's setrlimits.h: with less it could not start the job; applied before the slots. */
export const LEAST_ADDRESS_SPACE = 10 * 1024 * 1024;

/** RLIM_INFINITY: at this size an amount of bytes is no limit any more. */
const unlimitedBytes = 2 ** 64;

/**
 * The address space limit that the shepherd sets for every child of it, hooks included (daemons/shepherd/setrlimits.c):
 * h_vmem and s_vmem, at least 10 MiB, times the host's slots unless the complex is a consumable JOB.
 */
export function addressSpaceLimit(config: SpoolConfig): AddressSpaceLimit {
  const { h_vmem: hardLimit, s_vmem: softLimit } = config.limits;
  const hard = withFloor(hardLimit);
  const soft = withFloor(softLimit);
  const slots = config.hostSlots ?? 1;
  return {
    soft: scaled(soft === null || hard === null ? soft : Math.min(soft, hard), softLimit, slots),
    hard: scaled(hard, hardLimit, slots),
  };
}

function withFloor(limit: ResourceLimit | undefined): number | null {
  if (limit === undefined) return null;
  const size = parseMemorySize(limit.text);
  if (!size.ok) return null;
  // A negative number becomes a huge one when the shepherd casts it to rlim_t.
  return size.value < 0 ? Infinity : Math.max(Math.trunc(size.value), LEAST_ADDRESS_SPACE);
}

function scaled(bytes: number | null, limit: ResourceLimit | undefined, slots: number): number | null {
  if (bytes === null) return null;
  const total = limit?.perJob === true ? bytes : bytes * slots;
  return total >= unlimitedBytes ? Infinity : total;
}

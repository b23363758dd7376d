import { failedCode } from '../gridengine/failed-code';
import type { JobRecord } from '../sampler/record';
import { endingSignal, succeeded } from './job-end';

/** From here on a peak counts as at its limit: an allocation that did not fit leaves no mark at all. */
export const CLOSE_TO_LIMIT = 0.9;

const SIGKILL = 9;
/** Refused memory mostly ends so: abort (C++, Python), a null pointer, a bus error; or with an error status. */
const AFTER_REFUSAL: ReadonlySet<number> = new Set([6, 7, 11]);
const LIMIT_ENFORCED = 37;

/** How a bad end, as far as memory may have brought it about, stands to h_vmem; shares of the limit, null: unknown. */
export interface MemoryEnd {
  /** By execd, which adds up what all processes hold; by the kernel, which refuses memory or kills for want of it. */
  readonly by: 'execd' | 'refusal' | 'oom-killer' | null;
  /** Held of the limit by all processes together, by the address space of one. */
  readonly held: number | null;
  readonly space: number | null;
}

const largest = (...values: readonly (number | null)[]): number | null =>
  values.reduce((most, value) => (value === null || (most !== null && most >= value) ? most : value), null);

function heldBytes(record: JobRecord): number | null {
  const held = record.peak_rss_swap ?? record.peak_rss;
  // `maxvmem` is what execd itself compares with h_vmem, whatever its dialect adds up there.
  return largest(
    held === null ? null : (held.upper_bytes ?? held.lower_bytes),
    record.grid_engine?.maxvmem_bytes ?? null,
  );
}

/** null: it ended well or never started, or it is not known how it ended. */
export function memoryEnd(record: JobRecord): MemoryEnd | null {
  if (succeeded(record) !== false || (record.failed !== null && failedCode(record.failed).ran === false)) return null;
  const signal = endingSignal(record);
  const limit = record.h_vmem?.limit_bytes ?? 0;
  const shareOf = (bytes: number | null): number | null => (bytes === null || limit <= 0 ? null : bytes / limit);
  const held = shareOf(heldBytes(record));
  const space = shareOf(record.peak_process_vmem?.lower_bytes ?? null);
  const close = (share: number | null): boolean => share !== null && share >= CLOSE_TO_LIMIT;
  const killed = signal === SIGKILL || record.failed === LIMIT_ENFORCED;
  const oomKills = record.metrics.cgroup_oom_kills ?? 0;
  const by =
    signal === SIGKILL && oomKills > 0
      ? 'oom-killer'
      : killed && close(held)
        ? 'execd'
        : (signal === 0 ? (record.exit_status ?? 0) !== 0 : AFTER_REFUSAL.has(signal)) && close(space)
          ? 'refusal'
          : null;
  return { by, held, space };
}

/**
 * Whether the record's bad end is consistent with want of memory: killed at h_vmem, refused memory under it, or killed
 * by the kernel for its cgroup. No proof: a refused allocation leaves no mark.
 */
export function killedByMemory(record: JobRecord): boolean {
  return (memoryEnd(record)?.by ?? null) !== null;
}

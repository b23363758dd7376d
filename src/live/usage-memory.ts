import { memoryMeaning, type Dialect, type MemoryMeasure } from '../gridengine/dialect';
import type { Usage } from '../gridengine/qstat/job-detail';

/** Grid Engine's own figures of a task, in bytes; null: not reported (yet). */
export interface UsageMemory {
  readonly vmem: number | null;
  readonly maxvmem: number | null;
  /** What they add up. */
  readonly measure: MemoryMeasure | null;
}

/**
 * Memory of one task as Grid Engine reports it. Open Cluster Scheduler reports no vmem where systemd counts for it: its
 * rss and maxrss, memory of the unit, stand in.
 */
export function usageMemory(usage: Usage, dialect: Dialect): UsageMemory {
  const vmem = amountOf(usage, 'vmem');
  const maxvmem = amountOf(usage, 'maxvmem');
  const byUnit = dialect === 'ocs' && vmem === null && maxvmem === null;
  if (!byUnit) return { vmem, maxvmem, measure: memoryMeaning(dialect).maxvmem };
  const rss = amountOf(usage, 'rss');
  const maxrss = amountOf(usage, 'maxrss');
  return { vmem: rss, maxvmem: maxrss, measure: rss === null && maxrss === null ? null : 'cgroup' };
}

/** A figure of a usage list; null where it is missing or no amount. */
export function amountOf(usage: Usage, name: string): number | null {
  const value = usage.get(name);
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

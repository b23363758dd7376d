import { memoryMeaning, type Dialect, type MemoryMeasure } from '../gridengine/dialect';
import type { TaskDetail, Usage } from '../gridengine/qstat/job-detail';
import { isReservedUsage } from '../gridengine/reserved-usage';

/** Grid Engine's own figures for a task, in bytes; null: not reported (yet). */
export interface UsageMemory {
  readonly vmem: number | null;
  readonly maxvmem: number | null;
  /** What the figures measure. */
  readonly measure: MemoryMeasure | null;
}

/** Dialects that can't be distinguished by `qstat -xml`. */
const SON_OF_GRID_ENGINE: ReadonlySet<Dialect> = new Set(['sge8.1.9', 'daimh']);

/**
 * The memory of one task as Grid Engine reports it. Where systemd counts memory for Open Cluster Scheduler, it reports
 * no vmem; its rss and maxrss, the memory of the systemd unit, stand in.
 */
export function usageMemory(usage: Usage, dialect: Dialect): UsageMemory {
  const vmem = amountOf(usage, 'vmem');
  const maxvmem = amountOf(usage, 'maxvmem');
  const byUnit = dialect === 'ocs' && vmem === null && maxvmem === null;
  if (!byUnit) {
    const known =
      SON_OF_GRID_ENGINE.has(dialect) && isOfUnit(usage) ? memoryMeaning('daimh', true) : memoryMeaning(dialect);
    return { vmem, maxvmem, measure: known.maxvmem };
  }
  const rss = amountOf(usage, 'rss');
  const maxrss = amountOf(usage, 'maxrss');
  return { vmem: rss, maxvmem: maxrss, measure: rss === null && maxrss === null ? null : 'cgroup' };
}

/**
 * Whether the figures are of a systemd unit. With USE_CGROUPS=systemd the fork of daimh asks systemd for memory and for
 * CPU time, in whole seconds, and leaves `mem` at 0 (daemons/execd/ptf.c); otherwise `mem` grows with CPU time.
 */
function isOfUnit(usage: Usage): boolean {
  return usage.get('mem') === 0 && (usage.get('cpu') ?? 0) >= 1 && (usage.get('vmem') ?? 0) > 0;
}

/** Without a limit the figures have no vmem, which execd reports of every job that it measures. */
function isReserved(usage: Usage): boolean {
  const [cpu = 0, mem = 0, maxvmem = 0] = ['cpu', 'mem', 'maxvmem'].map((name) => usage.get(name));
  return isReservedUsage(cpu, mem, maxvmem) ?? !(usage.has('vmem') || usage.has('rss'));
}

/** A task without usage where Grid Engine reports what is reserved for its job. */
export function withoutReserved(task: TaskDetail | null): TaskDetail | null {
  if (task === null || ![task, ...task.peTasks].some(({ usage }) => isReserved(usage))) return task;
  return { ...task, usage: new Map(), peTasks: task.peTasks.map((one) => ({ ...one, usage: new Map() })) };
}

/** What the figures of several tasks measure: one known systemd unit decides, as that shows only after a while. */
export function measureOf(tasks: readonly UsageMemory[]): MemoryMeasure | null {
  const known = tasks.flatMap(({ measure }) => measure ?? []);
  return known.find((measure) => measure === 'cgroup') ?? known[0] ?? null;
}

/** A figure from a usage list; null: missing, or not a valid amount. */
export function amountOf(usage: Usage, name: string): number | null {
  const value = usage.get(name);
  return value !== undefined && Number.isFinite(value) && value >= 0 ? value : null;
}

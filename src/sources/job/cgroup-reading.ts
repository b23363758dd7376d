import type { Metric, Reading, Unit } from '../source';

/**
 * What a control group says of all its processes together, its sub-groups included. null: this kernel, this version of
 * control groups or this node's configuration does not have.
 */
export interface CgroupReading {
  /** Memory charged now: anonymous, shared, page cache and kernel memory. */
  readonly memoryBytes: number | null;
  /** The most that was ever charged. */
  readonly peakBytes: number | null;
  /** The most that was charged since the reading before this one. */
  readonly intervalPeakBytes: number | null;
  readonly anonBytes: number | null;
  /** Shared memory and tmpfs. */
  readonly shmemBytes: number | null;
  /** Page cache without shared memory. */
  readonly fileBytes: number | null;
  readonly kernelBytes: number | null;
  readonly swapBytes: number | null;
  /** In memory and in swap at once: inside both `anonBytes` or `shmemBytes` and `swapBytes`. */
  readonly swapCachedBytes: number | null;
  /** The most that was ever swapped out (v2). */
  readonly swapPeakBytes: number | null;
  /** The most that memory and swap together ever held (v1). */
  readonly memorySwapPeakBytes: number | null;
  /** Limits in force; null: none. */
  readonly memoryLimitBytes: number | null;
  readonly swapLimitBytes: number | null;
  readonly cpuUsageSeconds: number | null;
  readonly userSeconds: number | null;
  readonly systemSeconds: number | null;
  /** Time for which a CPU quota held its processes back. */
  readonly throttledSeconds: number | null;
  readonly ioReadBytes: number | null;
  readonly ioWriteBytes: number | null;
  readonly tasks: number | null;
  readonly tasksPeak: number | null;
  /** Processes that the kernel's OOM killer ended. */
  readonly oomKills: number | null;
  /** How often the limit left no room for an allocation. */
  readonly oomEvents: number | null;
  /** How often the soft limit (memory.high) held its processes back. */
  readonly highEvents: number | null;
  /** How often the hard limit was reached. */
  readonly maxEvents: number | null;
  /** Time in which some, and in which all, of its tasks waited for the resource (PSI). */
  readonly memoryStalledSeconds: number | null;
  readonly memoryFullyStalledSeconds: number | null;
  readonly cpuStalledSeconds: number | null;
  readonly ioStalledSeconds: number | null;
  readonly ioFullyStalledSeconds: number | null;
}

export const NOTHING_READ: CgroupReading = {
  memoryBytes: null,
  peakBytes: null,
  intervalPeakBytes: null,
  anonBytes: null,
  shmemBytes: null,
  fileBytes: null,
  kernelBytes: null,
  swapBytes: null,
  swapCachedBytes: null,
  swapPeakBytes: null,
  memorySwapPeakBytes: null,
  memoryLimitBytes: null,
  swapLimitBytes: null,
  cpuUsageSeconds: null,
  userSeconds: null,
  systemSeconds: null,
  throttledSeconds: null,
  ioReadBytes: null,
  ioWriteBytes: null,
  tasks: null,
  tasksPeak: null,
  oomKills: null,
  oomEvents: null,
  highEvents: null,
  maxEvents: null,
  memoryStalledSeconds: null,
  memoryFullyStalledSeconds: null,
  cpuStalledSeconds: null,
  ioStalledSeconds: null,
  ioFullyStalledSeconds: null,
};

type Kind = Metric['kind'];

const metric = (what: string, unit: Unit, kind: Kind, help: string): Metric => ({
  name: unit === 'count' ? `cgroup_${what}` : `cgroup_${what}_${unit}`,
  unit,
  kind,
  scope: 'job',
  ...(unit === 'seconds' ? { resolution: 1000 } : {}),
  help,
});

const bytes = (what: string, help: string): Metric => metric(what, 'bytes', 'gauge', help);
const moved = (what: string, help: string): Metric => metric(what, 'bytes', 'counter', help);
const seconds = (what: string, help: string): Metric => metric(what, 'seconds', 'counter', help);
const events = (what: string, help: string): Metric => metric(what, 'count', 'counter', help);

/** Which field of a reading each metric is. */
const FIELDS: readonly (readonly [keyof CgroupReading, Metric])[] = [
  ['memoryBytes', bytes('memory', 'Memory charged to the group, page cache and kernel memory included.')],
  ['peakBytes', bytes('peak', 'The most that was ever charged (memory.peak, memory.max_usage_in_bytes).')],
  ['intervalPeakBytes', bytes('interval_peak', 'The most that was charged since the last reading (Linux 6.12, v2).')],
  ['anonBytes', bytes('anon', 'Anonymous memory.')],
  ['shmemBytes', bytes('shmem', 'Shared memory and tmpfs.')],
  ['fileBytes', bytes('file', 'Page cache without shared memory.')],
  ['kernelBytes', bytes('kernel', 'Kernel memory: stacks, page tables, slab.')],
  ['swapBytes', bytes('swap', 'Swapped out.')],
  ['swapCachedBytes', bytes('swap_cached', 'In memory and in swap at once.')],
  ['swapPeakBytes', bytes('swap_peak', 'The most that was ever swapped out (Linux 6.5, v2).')],
  ['memorySwapPeakBytes', bytes('memory_swap_peak', 'The most that memory and swap together ever held (v1).')],
  ['memoryLimitBytes', bytes('memory_limit', "The group's limit of memory; absent where there is none.")],
  ['swapLimitBytes', bytes('swap_limit', "The group's limit of swap; absent where there is none.")],
  ['cpuUsageSeconds', seconds('cpu', 'CPU time, of processes that have ended too.')],
  ['userSeconds', seconds('cpu_user', 'CPU time in user mode.')],
  ['systemSeconds', seconds('cpu_system', 'CPU time in the kernel.')],
  ['throttledSeconds', seconds('throttled', 'Time for which a CPU quota held processes back.')],
  ['ioReadBytes', moved('io_read', 'Read from disks that are not made of others.')],
  [
    'ioWriteBytes',
    moved('io_write', 'Written to disks that are not made of others; v1: without what the cache wrote.'),
  ],
  ['tasks', metric('tasks', 'count', 'gauge', 'Threads that exist.')],
  ['tasksPeak', metric('tasks_peak', 'count', 'gauge', 'The most threads that ever existed at once.')],
  ['oomKills', events('oom_kills', 'Processes that the OOM killer ended, because of any limit or of the whole node.')],
  ['oomEvents', events('oom_events', 'How often the limit left no room for an allocation.')],
  ['highEvents', events('high_events', 'How often the soft limit (memory.high) held processes back.')],
  ['maxEvents', events('max_events', 'How often the hard limit was reached.')],
  ['memoryStalledSeconds', seconds('memory_stalled', 'Time in which some task waited for memory (PSI).')],
  ['memoryFullyStalledSeconds', seconds('memory_fully_stalled', 'Time in which every task waited for memory (PSI).')],
  ['cpuStalledSeconds', seconds('cpu_stalled', 'Time in which some task waited for a CPU (PSI).')],
  ['ioStalledSeconds', seconds('io_stalled', 'Time in which some task waited for I/O (PSI).')],
  ['ioFullyStalledSeconds', seconds('io_fully_stalled', 'Time in which every task waited for I/O (PSI).')],
];

export const CGROUP_METRICS: readonly Metric[] = FIELDS.map(([, described]) => described);

/** A reading as values of CGROUP_METRICS; what it does not have is left out. */
export function cgroupReadings(reading: CgroupReading): readonly Reading[] {
  return FIELDS.flatMap(([field, { name }]) => {
    const value = reading[field];
    return value === null ? [] : [{ metric: name, instance: '', value }];
  });
}

/** Plain words on what the OOM killer did; null: nothing. */
export function oomNote({ oomKills, memoryLimitBytes }: CgroupReading): string | null {
  if (oomKills === null || oomKills <= 0) return null;
  const victims = oomKills === 1 ? 'one process' : `${oomKills} processes`;
  const limit =
    memoryLimitBytes === null
      ? 'its cgroup had no limit, so the memory of the node or of a group above it was used up'
      : `the limit of its cgroup was ${Math.round(memoryLimitBytes / 1024 / 1024)} MiB`;
  return `The kernel's OOM killer ended ${victims} of this job; ${limit}.`;
}

import { knownReadings, metricsOf, type Metric, type Reading } from '../source';

const { gauge, counter } = metricsOf('cgroup', 'job');

const bytes = (what: string, help: string): Metric => gauge(what, 'bytes', help);
const moved = (what: string, help: string): Metric => counter(what, 'bytes', help);
const seconds = (what: string, help: string): Metric => counter(what, 'seconds', help, { resolution: 1000 });
const events = (what: string, help: string): Metric => counter(what, 'count', help);

const FIELDS = {
  memoryBytes: bytes('memory', 'Memory charged to the group, page cache and kernel memory included.'),
  peakBytes: bytes('peak', 'Most memory ever charged to the group (memory.peak, memory.max_usage_in_bytes).'),
  intervalPeakBytes: bytes(
    'interval_peak',
    'Most memory charged to the group since the last reading (Linux 6.12, v2).',
  ),
  anonBytes: bytes('anon', 'Anonymous memory.'),
  shmemBytes: bytes('shmem', 'Shared memory and tmpfs.'),
  fileBytes: bytes('file', 'Page cache without shared memory.'),
  kernelBytes: bytes('kernel', 'Kernel memory: stacks, page tables, slab.'),
  swapBytes: bytes('swap', 'Swapped out.'),
  swapCachedBytes: bytes('swap_cached', 'Pages that are both in memory and in swap.'),
  swapPeakBytes: bytes('swap_peak', 'Most memory ever swapped out at once (Linux 6.5, v2).'),
  memorySwapPeakBytes: bytes('memory_swap_peak', 'Most that memory and swap of the group together ever held (v1).'),
  memoryLimitBytes: bytes('memory_limit', "The group's memory limit; absent: none."),
  swapLimitBytes: bytes('swap_limit', "The group's swap limit; absent: none."),
  cpuUsageSeconds: seconds('cpu', 'CPU time, processes that have ended included.'),
  userSeconds: seconds('cpu_user', 'CPU time in user mode.'),
  systemSeconds: seconds('cpu_system', 'CPU time in the kernel.'),
  throttledSeconds: seconds('throttled', 'Time for which a CPU quota held processes back.'),
  ioReadBytes: moved('io_read', 'Read from disks that are not made of others.'),
  ioWriteBytes: moved('io_write', 'Written to disks that are not made of others; v1: without what the cache wrote.'),
  tasks: gauge('tasks', 'count', 'Threads in the group.'),
  tasksPeak: gauge('tasks_peak', 'count', 'Most threads ever in the group at once.'),
  oomKills: events('oom_kills', 'Processes that the OOM killer ended, because of any limit or of the whole node.'),
  oomEvents: events('oom_events', 'How often the memory limit left no room for an allocation.'),
  highEvents: events('high_events', 'How often the soft limit (memory.high) held processes back.'),
  maxEvents: events('max_events', 'How often the hard limit (memory.max) was reached.'),
  refaults: events('refaults', 'Pages that were given up for lack of memory and had to be read in again.'),
  memoryStalledSeconds: seconds('memory_stalled', 'Time in which some task waited for memory (PSI).'),
  memoryFullyStalledSeconds: seconds('memory_fully_stalled', 'Time in which every task waited for memory (PSI).'),
  cpuStalledSeconds: seconds('cpu_stalled', 'Time in which some task waited for a CPU (PSI).'),
  ioStalledSeconds: seconds('io_stalled', 'Time in which some task waited for I/O (PSI).'),
  ioFullyStalledSeconds: seconds('io_fully_stalled', 'Time in which every task waited for I/O (PSI).'),
} as const satisfies Readonly<Record<string, Metric>>;

type Field = keyof typeof FIELDS;

/**
 * What a control group says of all its processes together, its sub-groups included. null: this kernel, this version of
 * control groups or this node's configuration does not have the figure.
 */
export type CgroupReading = Readonly<Record<Field, number | null>>;

const FIELD_NAMES = Object.keys(FIELDS) as readonly Field[];

export const NOTHING_READ = Object.fromEntries(FIELD_NAMES.map((name) => [name, null])) as CgroupReading;

/** Counters of memory.stat: the first one until Linux 5.9, the others since. */
export const REFAULTS = ['workingset_refault', 'workingset_refault_anon', 'workingset_refault_file'] as const;

export const CGROUP_METRICS: readonly Metric[] = Object.values(FIELDS);

const LASTING: ReadonlySet<Field> = new Set([
  'peakBytes',
  'swapPeakBytes',
  'memorySwapPeakBytes',
  'memoryLimitBytes',
  'tasksPeak',
]);

/** Metrics that stand for the whole job when it has ended; the others are of a moment. */
export const OF_THE_JOB: ReadonlySet<string> = new Set(
  FIELD_NAMES.filter((name) => LASTING.has(name) || FIELDS[name].kind === 'counter').map((name) => FIELDS[name].name),
);

/** A reading as values of CGROUP_METRICS; what it does not have is left out. */
export const cgroupReadings = (group: CgroupReading): readonly Reading[] =>
  knownReadings(FIELD_NAMES.map((field) => [FIELDS[field], group[field]]));

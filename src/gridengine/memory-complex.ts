/** The complex that limits a job's memory in every dialect. */
export const H_VMEM = 'h_vmem';

/**
 * What enforces a request. `rlimit_as`: the kernel refuses address space to each process; `rlimit_data`: the kernel
 * refuses each process writable memory of its own; `execd`: execd compares a sum over the job's processes and signals
 * them; `cgroup`: the kernel ends processes at a limit of the job's control group.
 */
export const ENFORCERS = ['rlimit_as', 'rlimit_data', 'execd', 'cgroup'] as const;
export type Enforcer = (typeof ENFORCERS)[number];

/**
 * The complexes that jobs request memory by. The first in this order that a job requests counts: limits that end a job
 * come before what is only reserved.
 */
export const REQUEST_ORDER: readonly string[] = [
  H_VMEM,
  's_vmem',
  'h_rss',
  'mem_free',
  'm_mem_free',
  'virtual_free',
  'h_data',
  'mem',
  'mem_limit',
];

/** Complexes that are recorded wherever they are in force; a site's own come from its settings. */
export const MEMORY_COMPLEXES: readonly string[] = [...REQUEST_ORDER, 's_rss', 's_data'];

/**
 * Enforcers by complex; what is not here is only reserved. RLIMIT_RSS has no effect on Linux; only Open Cluster
 * Scheduler's execd compares h_rss. s_vmem is the soft RLIMIT_AS, which the kernel enforces as the hard one, and a sum
 * at which execd sends SIGXCPU. What the sum is, differs by dialect (`memoryMeaning`).
 */
const ENFORCED: ReadonlyMap<string, readonly Enforcer[]> = new Map([
  [H_VMEM, ['rlimit_as', 'execd']],
  ['s_vmem', ['rlimit_as', 'execd']],
  ['h_data', ['rlimit_data']],
  ['s_data', ['rlimit_data']],
  ['mem_limit', ['cgroup']],
]);

/** What enforces requests of a complex; none: it is only reserved. */
export function enforcersOf(complex: string): readonly Enforcer[] {
  return ENFORCED.get(complex) ?? [];
}

/** Whether requests of a complex limit the address space of each process. */
export function limitsAddressSpace(complex: string): boolean {
  return enforcersOf(complex).includes('rlimit_as');
}

type Measured = 'peak_process_vmem' | 'peak_rss_swap' | 'peak_rss' | 'peak_footprint';

// execd adds up RSS and swap, the kernel refuses memory by the address space of one process.
const BY_ADDRESS_SPACE: readonly Measured[] = ['peak_process_vmem', 'peak_rss_swap', 'peak_rss'];
const BY_MEMORY_HELD: readonly Measured[] = ['peak_rss', 'peak_footprint'];

/** The measured quantities that a request of a complex must not be below. */
export function measuredFor(complex: string): readonly Measured[] {
  return limitsAddressSpace(complex) ? BY_ADDRESS_SPACE : BY_MEMORY_HELD;
}

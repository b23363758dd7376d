import type { Dialect } from './dialect';

/**
 * What a figure of Grid Engine adds up, over the processes of a job on one host:
 * `rss_swap_sum` resident and swapped pages (shared pages once for each process), `vmem_sum` address space,
 * `cgroup` memory charged to the job's unit, page cache included.
 */
export type MemoryMeasure = 'rss_swap_sum' | 'vmem_sum' | 'cgroup';

export interface MemoryMeaning {
  /** What accounting's and qstat's `maxvmem` is; null: not collected, or unknown. */
  readonly maxvmem: MemoryMeasure | null;
  /** What accounting's `maxrss` (or `ru_maxrss`) is; null: unknown. */
  readonly maxrss: 'largest_process' | 'rss_sum' | 'cgroup' | null;
  /** What execd compares with h_vmem, to kill the job (`failed` 37); null: it does not, or unknown. */
  readonly execdLimit: MemoryMeasure | null;
}

/**
 * What `maxvmem` means and what h_vmem acts on. 6.2 and its descendants sum address space; 8.1.9 sums resident and
 * swapped pages (daemons/common/procfs.c), or PSS and swap with `USE_SMAPS`. With systemd the daimh fork samples the
 * unit's memory, and Open Cluster Scheduler from 9.1 has no maxvmem at all: its `maxrss` is the unit's peak.
 */
export function memoryMeaning(dialect: Dialect, options: { readonly systemd?: boolean } = {}): MemoryMeaning {
  const systemd = options.systemd ?? false;
  const maxrss = 'largest_process';
  switch (dialect) {
    case 'sge8.1.9':
      return { maxrss, maxvmem: 'rss_swap_sum', execdLimit: 'rss_swap_sum' };
    case 'daimh': {
      const measure = systemd ? 'cgroup' : 'rss_swap_sum';
      return { maxrss, maxvmem: measure, execdLimit: measure };
    }
    case 'sge6.2':
    case 'ogs':
      return { maxrss, maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' };
    case 'univa':
      return { maxrss: null, maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' };
    case 'ocs':
      return systemd
        ? { maxrss: 'cgroup', maxvmem: null, execdLimit: null }
        : { maxrss: 'rss_sum', maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' };
    case 'unknown':
      return { maxrss: null, maxvmem: null, execdLimit: null };
  }
}

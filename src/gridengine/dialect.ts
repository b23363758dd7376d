/** The names of dialects, as in the configuration and in what is sent. */
export const DIALECTS = ['sge6.2', 'ogs', 'sge8.1.9', 'daimh', 'univa', 'ocs', 'unknown'] as const;

/**
 * The kinds of Grid Engine that differ in what we read or rely on. `sge6.2` is 6.0 to 6.2u5, `sge8.1.9` is Son of Grid
 * Engine, `daimh` the fork of it that is maintained today, `univa` also Altair Grid Engine, `ocs` Open Cluster
 * Scheduler and Gridware Cluster Scheduler.
 */
export type Dialect = (typeof DIALECTS)[number];

export interface DetectedDialect {
  readonly dialect: Dialect;
  /** The version as printed: `8.1.9`, `6.2u5`; null: none was. */
  readonly version: string | null;
}

/**
 * By the first line of `qconf -help` or `qstat -help`: `SGE 8.1.9`, `GE 6.2u5`, `OGS/GE 2011.11p1`, `UGE 8.6.6`, `OCS
 * 9.0.2`.
 */
export function detectDialect(helpFirstLine: string): DetectedDialect {
  const line = helpFirstLine.trim();
  const version = /\b(\d{1,4}\.\d[\w.]*)/.exec(line.slice(0, 200))?.[1] ?? null;
  return { dialect: dialectOfHelp(line, version), version };
}

function dialectOfHelp(line: string, version: string | null): Dialect {
  if (/^(OCS|GCS)\b|Open Cluster Scheduler|Gridware/i.test(line)) return 'ocs';
  if (/^(UGE|AGE)\b|Univa|Altair/i.test(line)) return 'univa';
  if (/^OGS\b/i.test(line) || /^S?GE 2011\./.test(line)) return 'ogs';
  if (version === null || !/^(N1)?S?GE\b/i.test(line)) return 'unknown';
  if (/^6\.[0-2]/.test(version)) return 'sge6.2';
  // Univa's open core called itself GE, Son of Grid Engine and its fork SGE.
  if (version.startsWith('8.0')) return /^GE\b/i.test(line) ? 'univa' : 'sge8.1.9';
  const patch = /^8\.1\.(\d+)/.exec(version)?.[1];
  if (patch !== undefined) return Number(patch) >= 10 ? 'daimh' : 'sge8.1.9';
  return 'unknown';
}

/** Until 6.2u4 the root element names no schema of Grid Engine's own. */
const XML_SCHEMA = 'http://www.w3.org/2001/XMLSchema';

/** By the schema address in the root element of `qstat -xml`; the daimh fork keeps those of 8.1.9. */
export function dialectOfSchema(schema: string): Dialect {
  if (schema.includes('clusterscheduler')) return 'ocs';
  if (schema.includes('univa.com') || schema.includes('github.com/gridengine/gridengine')) return 'univa';
  if (schema.includes('gridscheduler')) return 'ogs';
  if (schema.includes('arc.liv.ac.uk')) return 'sge8.1.9';
  if (schema.includes('gridengine.sunsource.net') || schema.trim() === XML_SCHEMA) return 'sge6.2';
  return 'unknown';
}

/**
 * What a figure of Grid Engine adds up over the processes of a job on one host. `rss_swap_sum`: resident and swapped
 * pages (shared pages once for each process); `vmem_sum`: address space; `cgroup`: memory charged to the job's cgroup,
 * page cache included.
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

/** The facts in which dialects differ. */
interface DialectFacts {
  readonly memory: MemoryMeaning;
  /** The memory figures where systemd counts the memory of jobs; absent: as in `memory`. */
  readonly memoryBySystemd?: MemoryMeaning;
  /**
   * What the accounting line of every job says that execd killed for a limit; where it does not say so, no limit of
   * Grid Engine's ended the job. null: not known.
   */
  readonly limitSaying: string | null;
  /**
   * Whether execd kills a job whose processes together hold more resident memory than h_rss, and sends SIGXCPU above
   * s_rss. Elsewhere these are RLIMIT_RSS alone, which Linux ignores. null: not known.
   */
  readonly enforcesRss: boolean | null;
  /**
   * Whether a process of a slave task (`qrsh -inherit`) may have only the address space of one slot; other dialects let
   * it have that of all slots on its host.
   */
  readonly limitsTasksToASlot: boolean;
  /** Whether an accounting line names who deleted the job (`deleted_by`), also execd where it enforced a limit. */
  readonly namesWhoDeletes: boolean;
  /**
   * Whether the shepherd keeps LD_* and the like, which the job's owner chooses, out of the environment of root's hooks
   * (libs/uti2/sge_execvlp.c, in Son of Grid Engine from 8.1 on and in its fork). Open Cluster Scheduler and Univa only
   * refuse LD_PRELOAD and LD_LIBRARY_PATH at submission: LD_AUDIT passes. What is not known counts as no.
   */
  readonly sanitisesRootHooks: boolean;
}

/** 6.2 and its descendants sum address space. */
const SGE_62: DialectFacts = {
  memory: { maxrss: 'largest_process', maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' },
  limitSaying: null,
  enforcesRss: false,
  limitsTasksToASlot: false,
  namesWhoDeletes: false,
  sanitisesRootHooks: false,
};

/** 8.1.9 sums resident and swapped pages (daemons/common/procfs.c), or PSS and swap with `USE_SMAPS`. */
const SGE_819: DialectFacts = {
  ...SGE_62,
  memory: { maxrss: 'largest_process', maxvmem: 'rss_swap_sum', execdLimit: 'rss_swap_sum' },
  limitSaying: '37',
  sanitisesRootHooks: true,
};

export const DIALECT_FACTS: Readonly<Record<Dialect, DialectFacts>> = {
  'sge6.2': SGE_62,
  ogs: SGE_62,
  'sge8.1.9': SGE_819,
  daimh: {
    ...SGE_819,
    memoryBySystemd: { maxrss: 'largest_process', maxvmem: 'cgroup', execdLimit: 'cgroup' },
  },
  univa: {
    ...SGE_62,
    memory: { maxrss: null, maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' },
    enforcesRss: null,
  },
  ocs: {
    memory: { maxrss: 'rss_sum', maxvmem: 'vmem_sum', execdLimit: 'vmem_sum' },
    // From 9.1 on: no maxvmem at all, and maxrss is the peak of the systemd unit.
    memoryBySystemd: { maxrss: 'cgroup', maxvmem: null, execdLimit: null },
    limitSaying: 'deleted by execd',
    enforcesRss: true,
    limitsTasksToASlot: true,
    namesWhoDeletes: true,
    sanitisesRootHooks: false,
  },
  unknown: {
    ...SGE_62,
    memory: { maxrss: null, maxvmem: null, execdLimit: null },
    enforcesRss: null,
  },
};

/** What `maxvmem` means and what h_vmem acts on. `systemd`: systemd counts the memory of jobs. */
export function memoryMeaning(dialect: Dialect, systemd = false): MemoryMeaning {
  const { memory, memoryBySystemd } = DIALECT_FACTS[dialect];
  return systemd ? (memoryBySystemd ?? memory) : memory;
}

export function sanitisesRootHooks({ dialect, version }: DetectedDialect): boolean {
  return DIALECT_FACTS[dialect].sanitisesRootHooks && version?.startsWith('8.0') !== true;
}

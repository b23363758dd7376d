import type { Dialect, MemoryMeasure } from '../gridengine/dialect';

/**
 * The running cluster for display: hosts, and on them jobs, tasks and their memory. Made from a snapshot and our own
 * figures (`view.ts`). Memory in bytes, times in ms since the epoch; null: unknown.
 */
export interface ClusterView {
  readonly cluster: string;
  readonly dialect: Dialect;
  /** When the oldest of qmaster's answers was asked for. */
  readonly at: number | null;
  readonly times: ViewTimes;
  /** Problems, one line each: qmaster down, an old answer ... */
  readonly problems: readonly string[];
  readonly hosts: readonly HostView[];
  readonly jobs: readonly JobView[];
  /** Waiting jobs and tasks; null: not asked for. */
  readonly pending: readonly PendingView[] | null;
}

/** When each part of a view was asked for; samplers' figures may be newer or older than qmaster's answers. */
export interface ViewTimes {
  /** qhost: hosts, their load and memory. */
  readonly hosts: number | null;
  /** qstat: running jobs. */
  readonly list: number | null;
  /** qstat -j: the jobs' usage by Grid Engine. */
  readonly usage: number | null;
  readonly pending: number | null;
  /** The oldest and the newest of our samplers' figures, over all jobs; null: no job has any. */
  readonly oursOldest: number | null;
  readonly oursNewest: number | null;
}

export interface HostView {
  readonly name: string;
  readonly up: boolean;
  readonly processors: number | null;
  readonly load: number | null;
  readonly memoryTotal: number | null;
  readonly memoryUsed: number | null;
  readonly swapTotal: number | null;
  readonly swapUsed: number | null;
  readonly slots: number | null;
  readonly slotsUsed: number | null;
  /** The memory complex that jobs take from the host. */
  readonly complex: string;
  /** The host's amount of that complex (`complex_values`), and what is left; null: not known, or no consumable here. */
  readonly capacity: number | null;
  readonly free: number | null;
  /**
   * Sums over its jobs: requested memory, peaks, and present use. Of peaks and use, the larger figure of Grid Engine
   * and our samplers counts for each job, as each may be late; only ours if Grid Engine's includes the page cache.
   * null: nothing is known of any job there.
   */
  readonly requested: number;
  readonly peak: number | null;
  readonly used: number | null;
  /** Number of jobs without a memory limit. */
  readonly unlimited: number;
  /** Memory that can't be requested because no slot is left, and slots without memory for them (`stranded.ts`). */
  readonly strandedMemory: number;
  readonly strandedSlots: number;
  readonly queues: readonly QueueView[];
  readonly parts: readonly JobPart[];
}

export interface QueueView {
  readonly name: string;
  readonly slots: number | null;
  readonly slotsUsed: number | null;
  readonly state: string;
}

/** A running job or array task. */
export interface JobView {
  readonly job: number;
  readonly task: number | null;
  readonly name: string;
  readonly owner: string;
  readonly uid: string | null;
  readonly project: string | null;
  readonly state: string;
  readonly queue: string;
  readonly pe: string | null;
  readonly slots: number;
  readonly startedAt: number | null;
  readonly submittedAt: number | null;
  /** The requests of memory complexes. */
  readonly requests: readonly RequestView[];
  /** Limit of the whole job: request x slots; the request once for consumable JOB, x hosts for HOST; null: none. */
  readonly limit: number | null;
  /** The complex that sets the limit; null: none. */
  readonly complex: string | null;
  readonly limitState: LimitState;
  /** Walltime limit in seconds, as requested (h_rt); null: none was requested, or not known. */
  readonly timeLimit: number | null;
  /** Grid Engine's own figures, for the master and slave tasks; ended tasks count in `maxvmem`. */
  readonly vmem: number | null;
  readonly maxvmem: number | null;
  /** What `vmem` and `maxvmem` measure in this dialect; null: unknown. */
  readonly measure: MemoryMeasure | null;
  readonly cpuSeconds: number | null;
  /** `rss` and `upper` are set only if every host's are known. */
  readonly ours: OurFigures | null;
  /** The trend of the part that reaches its limit first. */
  readonly trend: Trend | null;
  readonly parts: readonly JobPart[];
}

/** `unlimited`: nothing or infinity was requested; `unknown`: the request is not known yet, or can't be parsed. */
export type LimitState = 'limited' | 'unlimited' | 'unknown';

export interface RequestView {
  readonly complex: string;
  /** `master`, `slave`: hard, for these tasks only (`-scope` of Open Cluster Scheduler). */
  readonly kind: 'hard' | 'soft' | 'default' | 'master' | 'slave';
  readonly text: string;
  readonly bytes: number | null;
}

/** The part of a job on one host. */
export interface JobPart {
  readonly host: string;
  readonly job: number;
  readonly task: number | null;
  readonly owner: string;
  readonly name: string;
  readonly slots: number;
  readonly master: boolean;
  /** Whether this is the job's only part. */
  readonly alone: boolean;
  /** The memory limit here; null unless limited. */
  readonly limit: number | null;
  readonly limitState: LimitState;
  /**
   * The memory it takes from the host: its request of the hosts' consumable, or without one its limit; for a consumable
   * JOB nothing except on the master host.
   */
  readonly reserved: number;
  /** Grid Engine's maxvmem and vmem of the master task, if it runs here. */
  readonly masterMaxvmem: number | null;
  readonly masterVmem: number | null;
  /** The same for the slave tasks (`qrsh -inherit`) that run here. */
  readonly tasks: readonly PartTask[];
  /** What Grid Engine's figures here measure; null: unknown. */
  readonly measure: MemoryMeasure | null;
  /** maxvmem of ended tasks (`past_usage`); set in the master's part, as Grid Engine no longer tells their hosts. */
  readonly pastMaxvmem: number | null;
  readonly ours: OurFigures | null;
  readonly trend: Trend | null;
}

export interface PartTask {
  readonly id: string;
  readonly maxvmem: number | null;
  readonly vmem: number | null;
}

/** Samplers' figures: from `run_dir/live` for this host, from heartbeats in the accounting DB for other hosts. */
export interface OurFigures {
  /** RSS at the last sample, and bounds of its peak so far; `upper` only if measured, not taken from a limit. */
  readonly rss: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** When the figures were taken. */
  readonly at: number;
}

/** The growth of a job's memory. */
export interface Trend {
  /** Bytes per second, over the last `overSeconds`. */
  readonly slope: number;
  readonly overSeconds: number;
  /** When the job reaches its limit at this rate; null: it has no limit, or that takes years. */
  readonly limitAt: number | null;
  /** The same at the highest and the lowest rate that the samples allow; null: never. */
  readonly earliest: number | null;
  readonly latest: number | null;
  /** How well the samples fit a straight line, and how far it must be extended to the limit. */
  readonly confidence: 'high' | 'medium' | 'low';
}

/** A waiting job; array tasks that wait together are one. */
export interface PendingView {
  readonly job: number;
  readonly tasks: string | null;
  readonly name: string;
  readonly owner: string;
  readonly project: string | null;
  readonly state: string;
  readonly submittedAt: number | null;
  readonly slots: number | null;
  readonly priority: number | null;
  readonly requests: readonly RequestView[];
  /** The complex of the request that counts; null: none. */
  readonly complex: string | null;
}

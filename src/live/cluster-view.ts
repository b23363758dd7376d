import type { Dialect, MemoryMeasure } from '../gridengine/dialect';

/**
 * The running cluster as people ask about it: hosts, and on them jobs, tasks and their memory. Made of a snapshot and of
 * our own figures (`view.ts`). Memory in bytes, times in ms since the epoch; null: unknown.
 */
export interface ClusterView {
  readonly cluster: string;
  readonly dialect: Dialect;
  /** When the oldest part of what qmaster said was asked for. */
  readonly at: number | null;
  readonly times: ViewTimes;
  /** Problems, in one line each: qmaster down, an answer that is old ... */
  readonly problems: readonly string[];
  readonly hosts: readonly HostView[];
  readonly jobs: readonly JobView[];
  /** Jobs and tasks that wait; null: not asked for. */
  readonly pending: readonly PendingView[] | null;
}

/** When each part of a view was asked for; its jobs' own samples are younger or older than qmaster's answers. */
export interface ViewTimes {
  /** qhost: the hosts, their load and memory. */
  readonly hosts: number | null;
  /** qstat: the jobs that run. */
  readonly list: number | null;
  /** qstat -j: what Grid Engine says they use. */
  readonly usage: number | null;
  readonly pending: number | null;
  /** Our samplers' figures, of whichever job has the oldest and the newest; null: no job has any. */
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
  /** The complex of memory that jobs take from the host. */
  readonly complex: string;
  /** What `complex_values` gives the host of it, and what is left; null: not known, or it is no consumable here. */
  readonly capacity: number | null;
  readonly free: number | null;
  /**
   * Sum of what its jobs asked for, and of what they have used at most and use now: of each the larger of what Grid
   * Engine and our own samplers say, since each is late in its own way; ours where the other has the page cache in it.
   */
  readonly requested: number;
  readonly peak: number;
  readonly used: number;
  /** Jobs without any limit on memory. */
  readonly unlimited: number;
  /** Memory that nobody can ask for as no slot is left, and slots that nobody can use as no memory is left (`stranded.ts`). */
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

/** A job, or a task of an array job, that runs. */
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
  /** By complex: those of memory. */
  readonly requests: readonly RequestView[];
  /** What is requested for the whole job: request x slots, once of a consumable JOB, x hosts of HOST; null: none. */
  readonly limit: number | null;
  /** By which complex; null: none. */
  readonly complex: string | null;
  readonly limitState: LimitState;
  /** Seconds that it may run: its own h_rt; null: none was requested, or it is not known. */
  readonly timeLimit: number | null;
  /** Grid Engine's own figures, of the master and its tasks; those that have ended count in `maxvmem`. */
  readonly vmem: number | null;
  readonly maxvmem: number | null;
  /** What these two add up in this dialect; null: unknown. */
  readonly measure: MemoryMeasure | null;
  readonly cpuSeconds: number | null;
  /** `rss` and `upper` only where every host's are known. */
  readonly ours: OurFigures | null;
  /** Of the part that reaches its limit first. */
  readonly trend: Trend | null;
  readonly parts: readonly JobPart[];
}

/** `unlimited`: nothing was asked for, or infinity; `unknown`: the request is not known yet, or can't be read. */
export type LimitState = 'limited' | 'unlimited' | 'unknown';

export interface RequestView {
  readonly complex: string;
  /** `master`, `slave`: hard, of these tasks alone (`-scope` of Open Cluster Scheduler). */
  readonly kind: 'hard' | 'soft' | 'default' | 'master' | 'slave';
  readonly text: string;
  readonly bytes: number | null;
}

/** What a job has on one host. */
export interface JobPart {
  readonly host: string;
  readonly job: number;
  readonly task: number | null;
  readonly owner: string;
  readonly name: string;
  readonly slots: number;
  readonly master: boolean;
  /** The job has no other part. */
  readonly alone: boolean;
  /** What it may use here; null unless limited. */
  readonly limit: number | null;
  readonly limitState: LimitState;
  /**
   * What it takes of the host's memory: by its request of the consumable that hosts have, without one its limit; of a
   * consumable JOB nothing except on the master's host.
   */
  readonly reserved: number;
  /** Grid Engine's maxvmem and vmem of the master task, where this is its host. */
  readonly masterMaxvmem: number | null;
  readonly masterVmem: number | null;
  /** The same of the `qrsh -inherit` tasks here that run. */
  readonly tasks: readonly PartTask[];
  /** What Grid Engine's figures here add up; null: unknown. */
  readonly measure: MemoryMeasure | null;
  /** Of the tasks that have ended (`past_usage`): Grid Engine no longer says where they ran; on the master's line. */
  readonly pastMaxvmem: number | null;
  readonly ours: OurFigures | null;
  readonly trend: Trend | null;
}

export interface PartTask {
  readonly id: string;
  readonly maxvmem: number | null;
  readonly vmem: number | null;
}

/** From the samplers: `run_dir/live` on this host, heartbeats in the accounting DB for the others. */
export interface OurFigures {
  /** RSS at the last sample, and the bracket of its peak so far; `upper` only where it was measured (no mere limit). */
  readonly rss: number | null;
  readonly lower: number | null;
  readonly upper: number | null;
  /** When the figures were made. */
  readonly at: number;
}

/** Where the memory of a job that grows is going. */
export interface Trend {
  /** Bytes a second, over the last `overSeconds`. */
  readonly slope: number;
  readonly overSeconds: number;
  /** When it reaches its limit at this rate; null: there is no limit, or it takes years. */
  readonly limitAt: number | null;
  /** The same at the least and the greatest rate that the samples allow; null: never. */
  readonly earliest: number | null;
  readonly latest: number | null;
  /** How well the samples lie on a line. */
  readonly confidence: 'high' | 'medium' | 'low';
}

/** Jobs that wait: all tasks of an array job that wait together are one. */
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
  /** Of the request that counts; null: none. */
  readonly complex: string | null;
}

import type { Per } from '../../gridengine/memory-request';
import type { CoverageReason } from '../../record/coverage';
import type { Cause } from '../why/hypothesis';
import type { Confidence } from '../why/why';
import type { Severity } from '../rules/rule';
import type { Dimension, HourOfDay } from '../../accounting/summary';
import type { NodeState } from '../nodes/judge';
import type { QueueWaits } from '../records/waits';
import type { Sums } from './sums';

export const REPORT_SCHEMA = 1;

/**
 * What a period's jobs used of what they asked for: `qmemacct report --format json` prints it as it stands here
 * (schema 1: fields may be added, never renamed). Memory over time is in GiB times hours, times are ISO 8601 in UTC,
 * shares are 0 to 1, null is "not known".
 */
export interface Report {
  readonly schema: typeof REPORT_SCHEMA;
  readonly created_at: string;
  /** Jobs that ended in it, and running ones with their last heartbeat in it; half-open. */
  readonly period: { readonly since: string; readonly until: string };
  readonly clusters: readonly string[];
  /** Whose jobs alone; null: the site's. */
  readonly owner: string | null;
  readonly by: Dimension;
  readonly site: Sums;
  /** All groups, the largest waste first. */
  readonly groups: readonly ReportGroup[];
  readonly fitting: Fitting;
  /** At most ten, the largest waste first; of one owner's report that owner. */
  readonly wasters: readonly Waster[];
  readonly killed_by_memory: KilledList;
  /** Names of the wasters' jobs that mostly stayed far below their limit; of one owner's report none: `wasters` has them. */
  readonly far_below: JobList;
  /** By the rules; null: nobody asked. */
  readonly classes: ClassesFound | null;
  readonly waits: Waits;
  /** By the local hour of the day at which the report was made. */
  readonly hours: readonly HourOfDay[];
  /** Ended records by peak over limit. */
  readonly shares: readonly ShareOfLimit[];
  readonly coverage: Coverage;
  /** Of the site's report on 20 hours or more. */
  readonly silent_nodes: readonly SilentNode[];
  /** Hosts that had jobs in the week before the period and none in it: idle, or gone. */
  readonly hosts_without_jobs: readonly string[];
  /** Whose last heartbeat shows a problem, the worst first; of the site's report on a time that ended less than a day before. */
  readonly host_problems: readonly HostProblems[];
}

/** As "qmemacct nodes" has it when the report is made. */
export interface HostProblems {
  readonly cluster: string;
  readonly host: string;
  readonly state: NodeState;
  readonly problems: readonly string[];
}

/** Classes of jobs by the rules, the worst first. */
export interface ClassesFound {
  readonly rules_version: string;
  /** Runs that were judged. */
  readonly runs: number;
  /** false: those alone that ran longest on the busiest days, or without some charts; there may be more of a class. */
  readonly complete: boolean;
  readonly lines: readonly ClassLine[];
}

/** What asking for much costs: how long jobs waited, by queue and requested memory. */
export interface Waits {
  /** Those with most jobs; none: no queue had jobs of two sizes. */
  readonly queues: readonly QueueWaits[];
  /** null: looked for in the whole period; else only on those days (UTC). Of each span of days the newest 5000 count. */
  readonly looked_at_days: readonly string[] | null;
}

/** What the runs of a class cost together, and the one that cost most. */
export interface ClassLine {
  readonly class: string;
  readonly severity: Severity;
  readonly runs: number;
  readonly owners: number;
  /** null: not of this kind, or not known. */
  readonly cost_gib_hours: number | null;
  readonly cost_slot_hours: number | null;
  readonly worst: {
    readonly cluster: string;
    readonly job_id: number;
    readonly task_id: number | null;
    readonly owner: string | null;
    readonly job_name: string | null;
    readonly evidence: string;
  };
}

/**
 * How waste becomes work that it kept from running: it is divided by what a slot, and a job, of this period asked for in
 * the mean. Jobs without a limit are taken to be as wide and as long as the others.
 */
export interface Fitting {
  readonly gib_per_slot: number | null;
  readonly gib_hours_per_job: number | null;
}

export interface ReportGroup {
  /** null: the records that have none. */
  readonly name: string | null;
  readonly sums: Sums;
}

export interface Waster {
  readonly name: string;
  readonly sums: Sums;
  /** Of the waste of all. */
  readonly share_of_waste: number;
  readonly jobs: JobList;
}

/** Job lines, largest first. */
export interface JobList {
  /** Records that belong here, listed or not. */
  readonly records: number;
  readonly lines: readonly JobLine[];
  /** null: looked for in the whole period; else only on those days (UTC), since so many records can't be looked through. */
  readonly looked_at_days: readonly string[] | null;
}

/** Each line with its cause. */
export interface KilledList extends JobList {
  /** Records that are counted here and, looked at one by one, turned out to have ended of something else. */
  readonly otherwise: number;
}

/**
 * The jobs of one owner whose names differ in their digits only: single ones, the tasks of an array, the hosts of a
 * parallel job.
 */
export interface JobLine {
  readonly cluster: string;
  readonly owner: string | null;
  /** With digits as one `#`, where several names are meant. */
  readonly job_name: string | null;
  /** Distinct jobs and array tasks. */
  readonly jobs: number;
  readonly records: number;
  /** false: at least so many; more of this name may belong here. */
  readonly complete: boolean;
  /** The one that wasted most. */
  readonly job_id: number;
  readonly task_id: number | null;
  readonly project: string | null;
  readonly queue: string | null;
  /** Of those that were looked at; of the others, with `records`, only the sums are known. */
  readonly hosts: readonly string[];
  /** Of the last record. */
  readonly ended_at: string | null;
  /** The largest on one host. */
  readonly limit_bytes: number | null;
  readonly peak_bytes: number | null;
  /** The upper bound of that peak is not known. */
  readonly peak_is_lower_bound: boolean;
  /** Where there is no peak: the largest maxvmem of Grid Engine. */
  readonly maxvmem_bytes: number | null;
  readonly waste_gib_hours: number;
  /** How they ended, in a few words. */
  readonly ending: string;
  readonly advice: LineAdvice | null;
  /** Why they ended badly; null: not of a list of jobs that did, or none was looked at by itself. */
  readonly cause: LineCause | null;
  /** All that should be asked for next time: "qsub -l h_vmem=6G,h_rt=8:00:00"; null: see `advice`. */
  readonly next_time: string | null;
}

/** The same as `qmemacct job` says of it. */
interface LineCause {
  readonly causes: readonly Cause[];
  readonly confidence: Confidence;
  /** Of the job that the line names; times of day are those of where the report was made. */
  readonly sentence: string;
  /** Of the runs that were looked at one by one, how many ended of the same. */
  readonly alike: number;
  readonly looked_at: number;
}

/** What to ask for next time, so that it would have been enough for every job of the line. */
export interface LineAdvice {
  /** "h_vmem=1.9G", "mem_free=2G", for `qsub -l`. */
  readonly request: string;
  readonly kind: 'lower' | 'raise';
  /** What a host would then grant, request x slots. */
  readonly total_bytes: number;
  readonly per: Per;
  readonly slots: number;
  /** It ran into its limit: how much it wanted is not known. */
  readonly guess: boolean;
  /** The share of runs that would need more, and the past runs that it rests on; null: it rests on these jobs alone. */
  readonly risk: number | null;
  readonly runs: number | null;
}

export interface ShareOfLimit {
  readonly from: number;
  /** null: at the limit, or above. */
  readonly to: number | null;
  readonly records: number;
}

export interface Coverage {
  /** Ended records. */
  readonly records: number;
  readonly sampled: number;
  /** Why the others were not, the most frequent first. */
  readonly reasons: readonly {
    readonly reason: Exclude<CoverageReason, 'sampled'>;
    readonly says: string;
    readonly records: number;
  }[];
}

export interface SilentNode {
  readonly host: string;
  /** `unsampled`: jobs ended there, not one with a sample; `lost`: its last record is of a sampler that died. */
  readonly kind: 'unsampled' | 'lost';
  readonly records: number;
  /** When that last record was written. */
  readonly last_at: string | null;
}

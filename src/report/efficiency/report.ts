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
 * What a period's jobs used of what they requested: `qmemacct report --format json` prints it as it stands here (schema
 * 1: fields may be added, never renamed). Memory over time is in GiB times hours, times are ISO 8601 in UTC, shares are
 * 0 to 1, null is "not known".
 */
export interface Report {
  readonly schema: typeof REPORT_SCHEMA;
  readonly created_at: string;
  /** The report covers jobs that ended in it, and running jobs with their last heartbeat in it; half-open. */
  readonly period: { readonly since: string; readonly until: string };
  readonly clusters: readonly string[];
  /** Only this owner's jobs; null: those of the whole site. */
  readonly owner: string | null;
  readonly by: Dimension;
  readonly site: Sums;
  /** All groups, the largest waste first. */
  readonly groups: readonly ReportGroup[];
  readonly fitting: Fitting;
  /** At most ten, the largest waste first; in the report of one owner, that owner. */
  readonly wasters: readonly Waster[];
  readonly killed_by_memory: KilledList;
  /** Job names of the wasters that mostly stayed far below their limit; for one owner none: `wasters` has them. */
  readonly far_below: JobList;
  /** Classes by the rules; null: not asked for. */
  readonly classes: ClassesFound | null;
  readonly waits: Waits;
  /** By the hour of the day, in the local time of where the report was made. */
  readonly hours: readonly HourOfDay[];
  /** Ended records by peak over limit. */
  readonly shares: readonly ShareOfLimit[];
  readonly coverage: Coverage;
  /** Only in the site's report on a period of 20 hours or more. */
  readonly silent_nodes: readonly SilentNode[];
  /** Hosts that had jobs in the week before the period and none in it: idle, or gone. */
  readonly hosts_without_jobs: readonly string[];
  /**
   * Hosts whose last heartbeat shows a problem, the worst first; only in the site's report on a period that ended less
   * than a day ago.
   */
  readonly host_problems: readonly HostProblems[];
}

/** As "qmemacct nodes" shows them when the report is made. */
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
  /** false: only the longest runs of the busiest days were judged, or some without their memory over time. */
  readonly complete: boolean;
  readonly lines: readonly ClassLine[];
}

/** What large requests cost: how long jobs waited, by queue and requested memory. */
export interface Waits {
  /** The queues with most jobs; empty: no queue had jobs of two sizes. */
  readonly queues: readonly QueueWaits[];
  /** The days (UTC) that were searched; null: the whole period. Of each span of days the newest 5000 jobs count. */
  readonly looked_at_days: readonly string[] | null;
}

/** What the runs of a class cost together, and the one that cost most. */
export interface ClassLine {
  readonly class: string;
  readonly severity: Severity;
  readonly runs: number;
  readonly owners: number;
  /** null: no cost of this kind, or unknown. */
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
 * Converts waste into the work that it kept from running: the waste is divided by the mean request of a slot, and of a
 * job, in this period. Jobs without a limit are assumed to have as many slots and to run as long as the others.
 */
export interface Fitting {
  readonly gib_per_slot: number | null;
  readonly gib_hours_per_job: number | null;
}

export interface ReportGroup {
  /** null: the records without one. */
  readonly name: string | null;
  readonly sums: Sums;
}

export interface Waster {
  readonly name: string;
  readonly sums: Sums;
  /** Share of the waste of all. */
  readonly share_of_waste: number;
  readonly jobs: JobList;
}

/** Whether screens name a waster: they name the first three, and others with 1 % of the waste. */
export const isNamed = ({ share_of_waste: part }: Pick<Waster, 'share_of_waste'>, index: number): boolean =>
  index < 3 || part >= 0.01;

/** Job lines, largest first. */
export interface JobList {
  /** Records that belong here, listed or not. */
  readonly records: number;
  readonly lines: readonly JobLine[];
  /** The days (UTC) that were searched, where there were too many records to search all; null: the whole period. */
  readonly looked_at_days: readonly string[] | null;
}

/** Jobs that memory ended, each line with its cause. */
export interface KilledList extends JobList {
  /** Records that are counted here, but that proved on examination to have another cause. */
  readonly otherwise: number;
}

/**
 * The jobs of one owner whose names differ in their digits only: single ones, the tasks of an array, the hosts of a
 * parallel job.
 */
export interface JobLine {
  readonly cluster: string;
  readonly owner: string | null;
  /** With `#` for digits, where several names are meant. */
  readonly job_name: string | null;
  /** Distinct jobs and array tasks. */
  readonly jobs: number;
  readonly records: number;
  /** false: the numbers are lower bounds; there may be more jobs of this name. */
  readonly complete: boolean;
  /** The job that wasted most. */
  readonly job_id: number;
  readonly task_id: number | null;
  readonly project: string | null;
  readonly queue: string | null;
  /** Hosts of the records that were read; of the others only the sums are known. */
  readonly hosts: readonly string[];
  /** Of the last record. */
  readonly ended_at: string | null;
  /** The largest limit on one host. */
  readonly limit_bytes: number | null;
  readonly peak_bytes: number | null;
  /** The upper bound of that peak is not known. */
  readonly peak_is_lower_bound: boolean;
  /** Where there is no peak: the largest maxvmem of Grid Engine. */
  readonly maxvmem_bytes: number | null;
  readonly waste_gib_hours: number;
  /** How the jobs ended, in a few words. */
  readonly ending: string;
  readonly advice: LineAdvice | null;
  /** Why the jobs ended badly; null: this is no list of such jobs, or none of them was examined by itself. */
  readonly cause: LineCause | null;
  /** All that should be asked for next time: "qsub -l h_vmem=6G,h_rt=8:00:00"; null: see `advice`. */
  readonly next_time: string | null;
}

/** The cause as `qmemacct job` states it. */
interface LineCause {
  readonly causes: readonly Cause[];
  readonly confidence: Confidence;
  /** About the job that the line names; times of day are local to where the report was made. */
  readonly sentence: string;
  /** How many of the `looked_at` runs, which were examined one by one, ended for the same reason. */
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
  /** The job ran into its limit: how much it wanted is unknown. */
  readonly guess: boolean;
  /**
   * The share of runs that would need more, and the number of past runs; null: the advice rests on these jobs alone.
   */
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
  /** `unsampled`: jobs ended there, not one with a sample; `lost`: its last record is of a job whose sampler died. */
  readonly kind: 'unsampled' | 'lost';
  readonly records: number;
  /** When the last record of a `lost` host was written. */
  readonly last_at: string | null;
}

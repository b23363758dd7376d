import type { RequestText } from './job-list';

/** One job of `qstat -j LIST -xml`. */
export interface JobDetail {
  readonly job: number;
  readonly name: string;
  readonly owner: string;
  readonly uid: string;
  readonly group: string | null;
  readonly project: string | null;
  readonly department: string | null;
  readonly account: string | null;
  readonly submittedAt: number | null;
  /** `qsub -a`; null: at once. */
  readonly notBefore: number | null;
  /** The command line of `qsub` (Open Cluster Scheduler, Univa); null where it is missing. */
  readonly submitCommand: string | null;
  /** Job context `qmemacct=mail`: a mail is asked for when it has ended. */
  readonly wantsMail: boolean;
  /** Jobs that must end first (`-hold_jid`, `-hold_jid_ad`). */
  readonly predecessors: readonly number[];
  /** With `amount` in bytes or seconds, as Grid Engine computed it (`CE_doubleval`); null where it is missing. */
  readonly requests: readonly DetailRequest[];
  readonly pe: string | null;
  readonly array: boolean;
  readonly tasks: readonly TaskDetail[];
  /** Error messages of its tasks, and in JSON the scheduler's reasons; one line each. XML has the reasons by themselves. */
  readonly messages: readonly string[];
}

/** Why jobs wait, as the scheduler says it. */
export interface SchedulerReason {
  readonly text: string;
  /** Empty: it holds for all. */
  readonly jobs: readonly number[];
}

export interface DetailRequest extends RequestText {
  readonly amount: number | null;
}

/** A task of a job that runs (task 1 of a job that is no array). */
export interface TaskDetail {
  readonly task: number;
  /** Bits of JAT_status; null where it is missing. */
  readonly status: number | null;
  readonly startedAt: number | null;
  /** Of the master task. */
  readonly usage: Usage;
  readonly peTasks: readonly PeTaskDetail[];
}

/** A `qrsh -inherit` task; those that have ended are put together as `past_usage`. */
export interface PeTaskDetail {
  /** `1.node01`. */
  readonly id: string;
  /** By the id's suffix or the granted destination; null: `past_usage`. */
  readonly host: string | null;
  readonly past: boolean;
  readonly usage: Usage;
}

/** UA_name to UA_value: `cpu mem io iow vmem maxvmem` (bytes for the last two), `rss maxrss` and others by dialect. */
export type Usage = ReadonlyMap<string, number>;

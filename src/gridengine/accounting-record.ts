/**
 * The fields that we use of a line of the accounting file, accounting(5): bytes, milliseconds since the epoch, seconds.
 */
export interface AccountingRecord {
  /** Not reliable: a job with an argument that has a line `queue=5` has queue `5` here (seen on 8.1.9). */
  readonly queue: string;
  readonly host: string;
  readonly owner: string;
  readonly jobName: string;
  readonly jobId: number;
  readonly account: string;
  readonly submissionTimeMs: number | null;
  /** Null if the job never started. */
  readonly startTimeMs: number | null;
  readonly endTimeMs: number | null;
  readonly failed: number;
  readonly exitStatus: number;
  readonly wallclockSeconds: number;
  readonly userSeconds: number;
  readonly systemSeconds: number;
  /** rusage's: the largest single process; summed over the tasks where the PE has accounting_summary. */
  readonly maxrssBytes: number;
  readonly project: string | null;
  readonly pe: string | null;
  /** Slots of the whole job. */
  readonly slots: number;
  /** 0: not an array job. */
  readonly task: number;
  readonly cpuSeconds: number;
  /** The integral of memory over CPU time, GiB seconds. */
  readonly memGibSeconds: number;
  readonly ioGib: number;
  /** The request as command line options; the user chooses it. */
  readonly category: string | null;
  /** The command line of the submission, without what may be secret (`withoutSecrets`). */
  readonly submitCommand: string | null;
  /** `SEQ.HOST` of a `qrsh -inherit` task. */
  readonly peTaskId: string | null;
  /** Null where it is not collected (Open Cluster Scheduler under systemd). */
  readonly maxvmemBytes: number | null;
  /** Univa's and Open Cluster Scheduler's `maxrss`: of the whole job on its host. */
  readonly jobMaxrssBytes: number | null;
  /** `USER@HOST`, several with commas. */
  readonly deletedBy: string | null;
}

export interface AccountingLineProblem {
  /**
   * `no-record`: a comment or an empty line, as qacct skips them. `split`: it begins as a job's and may end in its
   * request, where a user may have put a line feed: the next lines may be forged.
   */
  readonly kind: 'no-record' | 'malformed' | 'split';
  readonly detail: string;
}

/** `exit_status` of a job that still runs, -1 as an unsigned number: an intermediate record. */
export const STILL_RUNNING = 4294967295;

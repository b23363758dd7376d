/** A request as qstat prints it. */
export interface RequestText {
  readonly complex: string;
  readonly value: string;
  /** `default`: nobody asked, the complex has a default (`def_hard_request`). */
  readonly kind: 'hard' | 'soft' | 'default';
  /** Asked for the master task or the slave tasks only (Open Cluster Scheduler); absent: for all. */
  readonly scope?: 'master' | 'slave';
}

/** One row of `qstat [-u ...] [-r] [-ext] [-urg] [-f] -xml`: a job, an array task that runs, or the tasks that wait. */
export interface ListedJob {
  readonly job: number;
  /** `3`, `1-100:1`, `1-5:2,8`; null: no array job. */
  readonly tasks: string | null;
  /** The full name, which `-r` adds. */
  readonly name: string;
  readonly owner: string;
  readonly project: string | null;
  readonly department: string | null;
  /** State letters: `r`, `qw`, `dr`, `Eqw` ... */
  readonly state: string;
  /** The list it stood in: `running`, `pending` ...; empty where the dialect does not say. */
  readonly list: string;
  readonly priority: number | null;
  /** ms since the epoch; local time without a zone in most dialects. */
  readonly startedAt: number | null;
  readonly submittedAt: number | null;
  /** `all.q@node01`; null: waits. */
  readonly queueInstance: string | null;
  /** `-g t`: one row for each slot or host. */
  readonly role: 'MASTER' | 'SLAVE' | '';
  readonly slots: number | null;
  readonly requests: readonly RequestText[];
  readonly requestedPe: string | null;
  /** Slots of the PE: `4`, `2-8`, `3,4`; null: no PE, or `-r` was not asked for. */
  readonly requestedSlots: string | null;
  readonly grantedPe: string | null;
  /** `-ext`: CPU seconds; memory and I/O as integrals (GB s, GB), not memory in use. */
  readonly cpuSeconds: number | null;
  readonly memoryGbSeconds: number | null;
  readonly ioGb: number | null;
}

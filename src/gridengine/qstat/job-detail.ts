import {
  boolean,
  list,
  map,
  nullable,
  number,
  object,
  optional,
  refined,
  string,
  type Shape,
  type ValueOf,
} from '../../base/shape';
import { requestMembers } from './job-list';

/** UA_name to UA_value: `cpu mem io iow vmem maxvmem` (bytes for the last two), `rss maxrss` and others by dialect. */
export type Usage = ReadonlyMap<string, number>;

/** Made from an object in JSON. */
const usage: Shape<Usage> = refined(map(number()), (numbers) => new Map(Object.entries(numbers)));

const detailRequest = object({
  ...requestMembers,
  /** In bytes or seconds, as Grid Engine computed it (`CE_doubleval`); null where it is missing. */
  amount: nullable(number()),
  /** `CE_consumable`: 1 counts for each slot, 2 for the job, 3 for each host; absent where it is missing. */
  consumable: optional(number()),
});
export type DetailRequest = ValueOf<typeof detailRequest>;

/** A `qrsh -inherit` task; those that have ended are put together as `past_usage`. */
const peTaskDetail = object({
  /** `1.node01`. */
  id: string,
  /** The host, by the id's suffix or the granted destination; null: `past_usage`. */
  host: nullable(string),
  past: boolean,
  usage,
});

/** A task of a job that runs (task 1 of a job that is no array). */
const taskDetail = object({
  task: number(),
  /** Bits of JAT_status; null where it is missing. */
  status: nullable(number()),
  startedAt: nullable(number()),
  /** Usage of the master task. */
  usage,
  peTasks: list(peTaskDetail),
});

/** One job of `qstat -j LIST -xml`. */
export const jobDetail = object({
  job: number(),
  name: string,
  owner: string,
  uid: string,
  group: nullable(string),
  project: nullable(string),
  department: nullable(string),
  account: nullable(string),
  submittedAt: nullable(number()),
  /** `qsub -a`; null: at once. */
  notBefore: nullable(number()),
  /** `qsub -ar`; null: it needs no advance reservation. */
  reservation: nullable(number()),
  /** The command line of `qsub` (Open Cluster Scheduler, Univa); null where it is missing. */
  submitCommand: nullable(string),
  /** The job context is `qmemacct=mail`: its owner wants a mail when the job has ended. */
  wantsMail: boolean,
  /** Jobs that must end first (`-hold_jid`). */
  predecessors: list(number()),
  /** Array jobs of which the same task must end first (`-hold_jid_ad`). */
  taskPredecessors: list(number()),
  requests: list(detailRequest),
  pe: nullable(string),
  array: boolean,
  tasks: list(taskDetail),
  /** Error messages of its tasks, and in JSON the scheduler's reasons; one line each. XML has the reasons by themselves. */
  messages: list(string),
});

export type JobDetail = ValueOf<typeof jobDetail>;
export type TaskDetail = ValueOf<typeof taskDetail>;
export type PeTaskDetail = ValueOf<typeof peTaskDetail>;

/** Why jobs wait, as the scheduler says it. */
export interface SchedulerReason {
  readonly text: string;
  /** Empty: it holds for all. */
  readonly jobs: readonly number[];
}

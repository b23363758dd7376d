import { list, nullable, number, object, oneOf, optional, string, type ValueOf } from '../../base/shape';

/** A request as qstat prints it. */
export const requestMembers = {
  complex: string,
  value: string,
  /** `default`: nobody asked, the complex has a default (`def_hard_request`). */
  kind: oneOf(['hard', 'soft', 'default']),
  /** Asked for the master task or the slave tasks only (Open Cluster Scheduler); absent: for all. */
  scope: optional(oneOf(['master', 'slave'])),
};

const request = object(requestMembers);
export type RequestText = ValueOf<typeof request>;

const aNumber = nullable(number());
const aText = nullable(string);

/** One row of `qstat [-u ...] [-r] [-ext] [-urg] [-f] -xml`: a job, an array task that runs, or the tasks that wait. */
export const listedJob = object({
  job: number(),
  /** `3`, `1-100:1`, `1-5:2,8`; null: no array job. */
  tasks: aText,
  /** The full name, which `-r` adds. */
  name: string,
  owner: string,
  project: aText,
  department: aText,
  /** State letters: `r`, `qw`, `dr`, `Eqw` ... */
  state: string,
  /** The list it stood in: `running`, `pending` ...; empty where the dialect does not say. */
  list: string,
  priority: aNumber,
  /** ms since the epoch; local time without a zone in most dialects. */
  startedAt: aNumber,
  submittedAt: aNumber,
  /** `all.q@node01`; null: waits. */
  queueInstance: aText,
  /** `-g t`: one row for each slot or host. */
  role: oneOf(['MASTER', 'SLAVE', '']),
  slots: aNumber,
  requests: list(request),
  requestedPe: aText,
  /** Slots of the PE: `4`, `2-8`, `3,4`; null: no PE, or `-r` was not asked for. */
  requestedSlots: aText,
  grantedPe: aText,
  /** `-ext`: CPU seconds; memory and I/O as integrals (GB s, GB), not memory in use. */
  cpuSeconds: aNumber,
  memoryGbSeconds: aNumber,
  ioGb: aNumber,
});

export type ListedJob = ValueOf<typeof listedJob>;

import { list, nullable, number, object, oneOf, string, type ValueOf } from '../../base/shape';

const aNumber = nullable(number());

const qhostJob = object({
  job: number(),
  /** null: no array job. */
  task: aNumber,
  name: string,
  owner: string,
  /** State letters. */
  state: string,
  queue: string,
  /** Queue instance (`all.q@node01`); empty where the dialect prints none. */
  queueInstance: string,
  priority: aNumber,
  /** ms since the epoch; null where it is not printed. */
  startedAt: aNumber,
  /** `MASTER` or `SLAVE`; empty where it is not printed. */
  role: oneOf(['MASTER', 'SLAVE', '']),
});

const qhostQueue = object({
  name: string,
  /** `BIP` and so on. */
  type: string,
  slotsUsed: aNumber,
  slots: aNumber,
  slotsReserved: aNumber,
  /** State letters; empty: all is well. */
  state: string,
});

/** A line of `-F`: `hc:h_vmem=12.000G`. */
const qhostResource = object({
  name: string,
  /** Where the value comes from: `hl` load, `hc` consumable of the host, `hf` fixed, `gc` consumable of the cluster ... */
  dominance: string,
  value: string,
});

/** One host of `qhost -F -q -j`, as printed. Sizes in bytes (qhost prints one decimal of a 1024-based unit). */
export const qhostHost = object({
  name: string,
  /** null: the host is down, or does not report. */
  architecture: nullable(string),
  processors: aNumber,
  sockets: aNumber,
  cores: aNumber,
  threads: aNumber,
  /** The load of all processors together. */
  load: aNumber,
  memoryTotal: aNumber,
  memoryUsed: aNumber,
  swapTotal: aNumber,
  swapUsed: aNumber,
  /** `num_proc` and `mem_total` exactly as printed, for programs that read them like QmemTools. */
  processorsText: string,
  memoryTotalText: string,
  resources: list(qhostResource),
  queues: list(qhostQueue),
  /** One for each row that qhost prints: a parallel job has one for each slot, and one more for its master task. */
  jobs: list(qhostJob),
});

export type QhostHost = ValueOf<typeof qhostHost>;
export type QhostResource = ValueOf<typeof qhostResource>;
export type QhostQueue = ValueOf<typeof qhostQueue>;
export type QhostJob = ValueOf<typeof qhostJob>;

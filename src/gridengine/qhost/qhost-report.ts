/** One host of `qhost -F -q -j`, as printed. Sizes in bytes (qhost prints one decimal of a 1024-based unit). */
export interface QhostHost {
  readonly name: string;
  /** null: the host is down, or does not report. */
  readonly architecture: string | null;
  readonly processors: number | null;
  readonly sockets: number | null;
  readonly cores: number | null;
  readonly threads: number | null;
  /** Of all processors together. */
  readonly load: number | null;
  readonly memoryTotal: number | null;
  readonly memoryUsed: number | null;
  readonly swapTotal: number | null;
  readonly swapUsed: number | null;
  /** `num_proc` and `mem_total` to the letter: QmemTools' readers get these. */
  readonly processorsText: string;
  readonly memoryTotalText: string;
  readonly resources: readonly QhostResource[];
  readonly queues: readonly QhostQueue[];
  /** One for each row that qhost prints: a parallel job has one for each slot, and one more for its master task. */
  readonly jobs: readonly QhostJob[];
}

/** A line of `-F`: `hc:h_vmem=12.000G`. */
export interface QhostResource {
  readonly name: string;
  /** Where the value comes from: `hl` load, `hc` consumable of the host, `hf` fixed, `gc` consumable of the cluster ... */
  readonly dominance: string;
  readonly value: string;
}

export interface QhostQueue {
  readonly name: string;
  /** `BIP` and so on. */
  readonly type: string;
  readonly slotsUsed: number | null;
  readonly slots: number | null;
  readonly slotsReserved: number | null;
  /** State letters; empty: all is well. */
  readonly state: string;
}

export interface QhostJob {
  readonly job: number;
  /** null: no array job. */
  readonly task: number | null;
  readonly name: string;
  readonly owner: string;
  /** State letters. */
  readonly state: string;
  readonly queue: string;
  /** Queue instance (`all.q@node01`); empty where the dialect prints none. */
  readonly queueInstance: string;
  readonly priority: number | null;
  /** ms since the epoch; null where it is not printed. */
  readonly startedAt: number | null;
  /** `MASTER` or `SLAVE`; empty where it is not printed. */
  readonly role: 'MASTER' | 'SLAVE' | '';
}

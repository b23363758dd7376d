import type { Trial } from './large-request';

/** What can end a job badly. */
export const CAUSES = [
  'never-ran',
  'rescheduled',
  'failed-afterwards',
  'node-lost',
  'deleted',
  'suspended',
  'h_vmem',
  'refused-memory',
  's_vmem',
  'resident-memory',
  'h_rt',
  's_rt',
  'cpu-time',
  'cgroup-out-of-memory',
  'node-out-of-memory',
  'file-size',
  'crash',
  'own-error',
  'signalled',
] as const;
export type Cause = (typeof CAUSES)[number];

/** Causes that are a lack of memory: within a limit, or on the node. */
export const MEMORY_CAUSES: ReadonlySet<Cause> = new Set<Cause>([
  'h_vmem',
  'refused-memory',
  's_vmem',
  'resident-memory',
  'cgroup-out-of-memory',
  'node-out-of-memory',
]);

export const STANDINGS = ['consistent', 'contradicted', 'undecidable'] as const;
export type Standing = (typeof STANDINGS)[number];

/** One cause, compared with the evidence. */
export interface Hypothesis {
  readonly cause: Cause;
  readonly standing: Standing;
  /** Where consistent: 3 Grid Engine or the kernel says so, 2 the evidence supports it, 1 nothing speaks against it. */
  readonly weight: 0 | 1 | 2 | 3;
  /** Whether the cause can lead to such an end at all: a job that ended by SIGSEGV was not stopped at h_rt. */
  readonly suspect: boolean;
  /** "Grid Engine's own kill at h_vmem" */
  readonly name: string;
  /** A clause: "it held 3.9 GiB of the 4 GiB allowed on node17". */
  readonly evidence: string;
  /** Where undecidable, or barely consistent: what would have decided. */
  readonly wouldShow: string | null;
  /** What to request to find out whether this was the cause: not a measured need. */
  readonly trial?: Trial | null;
}

/** Makes the hypothesis of one cause, with the standing of the method's name. */
export interface Judge {
  consistent(weight: 1 | 2 | 3, evidence: string, wouldShow?: string): Hypothesis;
  contradicted(evidence: string): Hypothesis;
  undecidable(evidence: string, wouldShow?: string): Hypothesis;
  /** The job ended in another way than this cause leads to. */
  otherwise(evidence: string): Hypothesis;
}

export function judge(cause: Cause, name: string): Judge {
  const make = (
    standing: Standing,
    weight: Hypothesis['weight'],
    suspect: boolean,
    evidence: string,
    wouldShow: string | null,
  ): Hypothesis => ({ cause, standing, weight, suspect, name, evidence, wouldShow });
  return {
    consistent: (weight, evidence, wouldShow) => make('consistent', weight, true, evidence, wouldShow ?? null),
    contradicted: (evidence) => make('contradicted', 0, true, evidence, null),
    undecidable: (evidence, wouldShow) => make('undecidable', 0, true, evidence, wouldShow ?? null),
    otherwise: (evidence) => make('contradicted', 0, false, evidence, null),
  };
}

const ORDER: Readonly<Record<Standing, number>> = { consistent: 20, undecidable: 10, contradicted: 0 };

/** Of several judgements of one cause (one for each host) the one that speaks most for it. */
export function strongest(first: Hypothesis, others: readonly Hypothesis[]): Hypothesis {
  const strength = ({ standing, weight }: Hypothesis): number => ORDER[standing] + weight;
  return others.reduce((most, one) => (strength(one) > strength(most) ? one : most), first);
}

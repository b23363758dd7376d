import { groupBy } from '../../base/group-by';
import type { Dialect } from '../../gridengine/dialect';
import { predictionOf, recordsOf, type JobRun } from '../job/job-run';
import { needsOf } from '../job/job-whole';
import { nextTime } from '../advice/next-time';
import type { Cause, Standing } from './hypothesis';
import { whyEnded, type Confidence } from './why';

/** Why one run of a job (array task) ended badly: part of the published contract (schema 1). */
export interface CauseAccount {
  readonly cluster: string;
  readonly job_id: number;
  readonly task_id: number | null;
  readonly attempt: number;
  readonly confidence: Confidence;
  /** The causes that fit best; none where the evidence does not suffice. */
  readonly causes: readonly Cause[];
  readonly sentence: string;
  /** Every cause that can lead to such an end, compared with the evidence. */
  readonly explanations: readonly {
    readonly cause: Cause;
    readonly standing: Standing;
    readonly name: string;
    readonly evidence: string;
    /** Where the evidence leaves the cause open: what would have shown it. */
    readonly would_show: string | null;
  }[];
  /** What to ask for next time; null: nothing can be said. */
  readonly next_time: string | null;
}

/** The causes of all runs that ended badly, in the order of `runs`. */
export function causeAccounts(runs: readonly JobRun[], dialect?: Dialect): readonly CauseAccount[] {
  const keyOf = ({ record, incarnation, attempt }: JobRun): string =>
    `${incarnation} ${record.job_id} ${record.task_id ?? ''} ${attempt} ${record.cluster}`;
  return [...groupBy(runs, keyOf).values()].flatMap((group): CauseAccount[] => {
    const records = recordsOf(group);
    const why = whyEnded(records, undefined, dialect);
    const [first] = group;
    if (why === null || first === undefined) return [];
    const { cluster, job_id, task_id } = first.record;
    return [
      {
        cluster,
        job_id,
        task_id,
        attempt: first.attempt,
        confidence: why.confidence,
        causes: why.causes,
        sentence: why.sentence,
        explanations: why.hypotheses
          .filter(({ suspect }) => suspect)
          .map(({ cause, standing, name, evidence, wouldShow }) => ({
            cause,
            standing,
            name,
            evidence,
            would_show: wouldShow,
          })),
        next_time: nextTime(needsOf(records), [why], predictionOf(group))?.line ?? null,
      },
    ];
  });
}

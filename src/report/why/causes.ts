import { groupBy } from '../../base/group-by';
import { described, integer, list, named, nullable, object, oneOf, string, type ValueOf } from '../../base/shape';
import type { Dialect } from '../../gridengine/dialect';
import { predictionOf, recordsOf, type JobRun } from '../job/job-run';
import { needsOf } from '../job/job-whole';
import { nextTime } from '../advice/next-time';
import { CAUSES, STANDINGS } from './hypothesis';
import { CONFIDENCES, whyEnded } from './why';

export const explanationShape = object(
  {
    cause: oneOf(CAUSES),
    standing: oneOf(STANDINGS),
    name: string,
    evidence: string,
    /** Where the evidence leaves the cause open: what would have shown it. */
    would_show: nullable(string),
  },
  'one thing that such an end can come of, held against what is known',
);

/** Part of the published contract (schema 1). */
export const causeShape = object(
  {
    cluster: string,
    job_id: integer(0),
    task_id: nullable(integer(0)),
    attempt: integer(0),
    confidence: oneOf(CONFIDENCES),
    causes: described(list(oneOf(CAUSES)), 'the causes that fit best; none if the evidence does not suffice'),
    sentence: string,
    /** Every cause that can lead to such an end. */
    explanations: list(named(explanationShape, 'Explanation')),
    next_time: described(nullable(string), 'what to request next time: a qsub line; null: nothing can be said'),
  },
  'why one run of a job (array task) ended badly, by what the caller is shown',
);
export type CauseAccount = ValueOf<typeof causeShape>;

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

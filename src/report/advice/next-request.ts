import type { JobRecord } from '../../record/record';
import { isSameJob, predictionOf, runGroups, type JobRun } from '../job/job-run';
import { needsUpTo } from '../job/job-whole';
import type { Prediction } from './class-advice';
import { adviseRequest } from './advice';

/** The next memory request, from what it must fit and the prediction from past runs; null: nothing can be advised. */
export function nextRequest(needs: readonly JobRecord[], predicted: Prediction | null) {
  const advice = adviseRequest(needs, predicted);
  if (advice === null) return null;
  const { kind, complex, totalBytes, slots, prediction } = advice;
  return {
    kind,
    complex,
    /** Per slot, or per job where the complex is consumed so. */
    request_bytes: Math.trunc(totalBytes / slots),
    /**
     * The share of runs that would need more, and the number of past runs; null: the advice rests on this run alone.
     */
    risk: prediction?.risk ?? null,
    runs: prediction?.runs ?? null,
  };
}

/** What memory to request for the next run: part of the published contract (schema 1). */
export type NextRequest = NonNullable<ReturnType<typeof nextRequest>>;

/** The runs of a job (array task) up to that of `group`. */
function upTo<Run extends JobRun>(runs: readonly Run[], group: readonly Run[]): readonly Run[] {
  const [last] = group;
  if (last === undefined || last.attempt === 1) return group;
  const { record, attempt } = last;
  return runs.filter((run) => run.attempt <= attempt && run.record.task_id === record.task_id && isSameJob(run, last));
}

/** These runs, each with what to request for the next one; all hosts and tasks of a run must be there. */
export function nextRequests<Run extends JobRun>(
  runs: readonly Run[],
): readonly (Run & { readonly next_time: NextRequest | null })[] {
  const known = new Map<Run, NextRequest | null>();
  for (const group of runGroups(runs)) {
    const next = nextRequest(needsUpTo(upTo(runs, group)), predictionOf(group));
    for (const run of group) known.set(run, next);
  }
  return runs.map((run) => ({ ...run, next_time: known.get(run) ?? null }));
}

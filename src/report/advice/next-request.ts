import type { JobRecord } from '../../record/record';
import { promiseOf, recordsOf, runGroups, type JobRun } from '../job/job-run';
import { needsOf } from '../job/job-whole';
import type { Promised } from './class-advice';
import { adviseRequest, type Advice } from './advice';

/** What memory to request for the next run: part of the published contract (schema 1). */
export interface NextRequest {
  readonly kind: Advice['kind'];
  readonly complex: string;
  /** Per slot, or per job where the complex is so consumed. */
  readonly request_bytes: number;
  /** The share of runs that would need more, and the runs that it rests on; null: it rests on this run alone. */
  readonly risk: number | null;
  readonly runs: number | null;
}

/** By what a request must fit, and what past runs of its kind say; null: nothing can be said. */
export function nextRequest(needs: readonly JobRecord[], promised: Promised | null): NextRequest | null {
  const advice = adviseRequest(needs, promised);
  if (advice === null) return null;
  const { kind, complex, totalBytes, slots, promise } = advice;
  return {
    kind,
    complex,
    request_bytes: Math.trunc(totalBytes / slots),
    risk: promise?.risk ?? null,
    runs: promise?.runs ?? null,
  };
}

/** Each run's records with what to request for the next; all hosts and tasks of a run must be there. */
export function nextRequests<Run extends JobRun>(
  runs: readonly Run[],
): readonly (Run & { readonly next_time: NextRequest | null })[] {
  const known = new Map<Run, NextRequest | null>();
  for (const group of runGroups(runs)) {
    const next = nextRequest(needsOf(recordsOf(group)), promiseOf(group));
    for (const run of group) known.set(run, next);
  }
  return runs.map((run) => ({ ...run, next_time: known.get(run) ?? null }));
}

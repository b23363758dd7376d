import { neverRan } from './job-end';
import type { JobRecord } from './record';

/** Stores number the reasons by position: append only. */
export const COVERAGE_REASONS = [
  'sampled',
  // Only Grid Engine's own line is known: no hooks ran (or were switched off), or their record has not come.
  'no-hooks',
  // No host, no elapsed time.
  'never-started',
  // Its limits left no room for a sampler.
  'limits',
  'unprivileged',
  'other',
  'sampler-lost',
] as const;
/** Why a job has no samples, or only some. */
export type CoverageReason = (typeof COVERAGE_REASONS)[number];

/** The note of a job that ran, and of which only the accounting line is known. */
export const NOT_SEEN =
  'Only the line in the accounting file is known: no hooks ran on its host, or their record has not come.';

/** Prefix of the run ids of records that only Grid Engine's accounting knows. */
export const LINE_RUN = 'accounting.';

const BY_NOTE: readonly (readonly [RegExp, CoverageReason])[] = [
  [/^Not sampled: .*leaves no room for a sampler/, 'limits'],
  [/^Not sampled: the sampler did not start or died/, 'sampler-lost'],
];

/** Whether only Grid Engine's accounting knows the record: its run id is made from the line, not by our hooks. */
export function isLineOnly({ run_id }: Pick<JobRecord, 'run_id'>): boolean {
  return run_id.startsWith(LINE_RUN);
}

/** Whether a sampler of ours saw the job. */
export function isSampled(record: JobRecord): boolean {
  return (record.samples ?? 0) > 0;
}

function neverStarted(record: JobRecord): boolean {
  return neverRan(record) || (record.started_at === null && !((record.wallclock_seconds ?? 0) > 0));
}

/** Why a record has no samples, or only some: by the source of the record, and by the sampler's notes. */
export function coverageReason(record: JobRecord): CoverageReason {
  const said = (pattern: RegExp): boolean => record.notes.some((note) => pattern.test(note));
  if (isSampled(record))
    return record.status === 'lost' || said(/^The sampler died before the job ended/) ? 'sampler-lost' : 'sampled';
  const noted = BY_NOTE.find(([pattern]) => said(pattern));
  if (noted !== undefined) return noted[1];
  if (neverStarted(record)) return 'never-started';
  if (isLineOnly(record)) return 'no-hooks';
  return record.trust === 'self-reported' ? 'unprivileged' : 'other';
}

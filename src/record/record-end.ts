import type { JobRecord } from './record';

/** Grid Engine's own times are whole seconds, the fraction cut off. */
export const CUT_OFF_MS = 999;

/**
 * The latest moment (ms) at which a process of the record may have lived; Infinity: the job still runs. Processes may
 * outlive the job itself; the record covers them until it was made.
 */
export function endOf(record: JobRecord): number {
  if (record.status === 'running') return Infinity;
  const end = record.ended_at === null ? -Infinity : Date.parse(record.ended_at);
  return Math.max(record.revision, end % 1000 === 0 ? end + CUT_OFF_MS : end);
}

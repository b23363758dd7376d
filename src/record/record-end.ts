import type { JobRecord } from './record';

/** Grid Engine's own times are whole seconds, the fraction cut off. */
export const CUT_OFF_MS = 999;

/**
 * The latest moment at which anything of a record may have lived. Processes may go on after the job's own end; what a
 * record says of them it says until it was made. In ms; Infinity: it still runs.
 */
export function endOf(record: JobRecord): number {
  if (record.status === 'running') return Infinity;
  const end = record.ended_at === null ? -Infinity : Date.parse(record.ended_at);
  return Math.max(record.revision, end % 1000 === 0 ? end + CUT_OFF_MS : end);
}

import { nameClass } from '../record/name-class';
import type { JobRecord } from '../record/record';

type ClassFields = Pick<JobRecord, 'cluster' | 'owner' | 'job_name' | 'slots' | 'project' | 'queue' | 'pe'>;

/** Which of a job's fields are known; classes that depend on unknown fields are left out. */
interface Known {
  readonly size: boolean;
  /** Project and queue. */
  readonly place: boolean;
}

/** A character that cannot occur in job names or the other parts. */
const BETWEEN = '\u0000';

/** The digest of the script or command without that of the directory. */
const scriptOf = (program: string): string => program.split('.', 1)[0] ?? '';

/**
 * The job classes that a job belongs to, narrow to wide: runs of one owner whose names differ only in digits are likely
 * to need about the same, the more so with the same slots and parallel environment, the same script or command, the
 * same directory, project and queue. `programs`: digests of the programs the job runs (the record's field `program`),
 * the best first; empty: not known.
 */
export function jobClasses(
  job: ClassFields,
  programs: readonly string[],
  known: Known = { size: true, place: true },
): readonly string[] {
  const narrower = (wide: string, ...parts: readonly string[]): string => [wide, ...parts].join(BETWEEN);
  const named = narrower(job.cluster, job.owner ?? '', nameClass(job.job_name ?? ''));
  if (!known.size) return [named];
  const sized = narrower(named, String(job.slots ?? 1), job.pe ?? '');
  const scripted = programs.map((program) => narrower(sized, scriptOf(program)));
  if (!known.place) return [...new Set([...scripted, sized, named])];
  const placed = narrower(sized, job.project ?? '', job.queue ?? '');
  return [...new Set([...programs.map((program) => narrower(placed, program)), ...scripted, placed, sized, named])];
}

import { nameClass } from '../record/name-class';
import type { JobRecord } from '../record/record';

type ClassFields = Pick<JobRecord, 'cluster' | 'owner' | 'job_name' | 'slots' | 'project' | 'queue' | 'pe'>;

/** Job names and the like hold no such character. */
const BETWEEN = '\u0000';

/**
 * The job classes that a job belongs to, narrow to wide: runs of one owner whose names differ in their digits only are
 * likely to need alike, the more so with the same slots, parallel environment, project and queue.
 */
export function jobClasses(job: ClassFields): readonly string[] {
  const program = [job.cluster, job.owner ?? '', nameClass(job.job_name ?? '')];
  const sized = [...program, String(job.slots ?? 1), job.pe ?? ''];
  return [[...sized, job.project ?? '', job.queue ?? ''], sized, program].map((parts) => parts.join(BETWEEN));
}

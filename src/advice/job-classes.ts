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

/** Gives all runs of a class the same list of names: a history of a million runs has no room for one each. */
export class ClassNames {
  private readonly known = new Map<string, readonly string[]>();

  /** `classes`: narrow to wide; the narrowest says which the others are. */
  shared(classes: readonly string[]): readonly string[] {
    const [narrowest = ''] = classes;
    const known = this.known.get(narrowest);
    if (known === undefined) this.known.set(narrowest, classes);
    return known ?? classes;
  }
}

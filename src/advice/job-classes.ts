import { nameClass } from '../record/name-class';
import type { JobRecord } from '../record/record';

type ClassFields = Pick<JobRecord, 'cluster' | 'owner' | 'job_name' | 'slots' | 'project' | 'queue' | 'pe'> & {
  /** Digests of what it runs (the record's field `program`), the best first; none: not known. */
  readonly programs: readonly string[];
};

/** Which of a job's fields are known: where they are not, the classes that take them into account say nothing. */
interface Known {
  readonly size: boolean;
  /** Project and queue. */
  readonly place: boolean;
}

/** Job names and the like hold no such character. */
const BETWEEN = '\u0000';

/** Without the directory. */
const scriptOf = (program: string): string => program.split('.', 1)[0] ?? '';

/**
 * The job classes that a job belongs to, narrow to wide: runs of one owner whose names differ in their digits only are
 * likely to need alike, the more so with the same slots and parallel environment, the same script or command, the same
 * directory, project and queue.
 */
export function jobClasses(job: ClassFields, known: Known = { size: true, place: true }): readonly string[] {
  const named = [job.cluster, job.owner ?? '', nameClass(job.job_name ?? '')];
  const sized = [...named, String(job.slots ?? 1), job.pe ?? ''];
  const placed = [...sized, job.project ?? '', job.queue ?? ''];
  const classes = [
    ...(known.size && known.place ? job.programs.map((program) => [...placed, program]) : []),
    ...(known.size ? job.programs.map((program) => [...sized, scriptOf(program)]) : []),
    ...(known.size && known.place ? [placed] : []),
    ...(known.size ? [sized] : []),
    named,
  ];
  return [...new Set(classes.map((parts) => parts.join(BETWEEN)))];
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

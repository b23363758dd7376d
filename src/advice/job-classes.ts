import { nameClass } from '../record/name-class';
import type { JobRecord } from '../record/record';

type ClassFields = Pick<JobRecord, 'cluster' | 'owner' | 'job_name' | 'slots' | 'project' | 'queue' | 'pe'>;

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
 * directory, project and queue. `programs`: digests of what it runs (the record's field `program`), the best first;
 * none: not known.
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

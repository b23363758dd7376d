import type { Dialect } from '../gridengine/dialect';

/** What of a job is shown unasked, and what only when asked for. */
export interface JobViewOptions {
  /** Every task of an array job, and every task of a parallel one, as a line, however many there are. */
  readonly allTasks: boolean;
  /** Every host of a parallel job as a line. */
  readonly allHosts?: boolean;
  /** Which Grid Engine's words the records have; left out: not known. */
  readonly dialect?: Dialect;
}

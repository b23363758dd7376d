import { privateCluster } from '../record/job-name';
import { usageError } from './command-error';

/** A job, or one task of an array job, as Grid Engine writes them: "4711", "4711.3"; "run-7": one of `qmemacct run`. */
export interface JobArgument {
  readonly job_id: number;
  readonly task_id?: number;
  /** Of a private run; left out: of any cluster, and of no private run. */
  readonly cluster?: string;
}

/** Throws a usage error where it is neither. */
export function parseJobArgument(text: string): JobArgument {
  const run = /^(run|demo)-(\d{1,10})$/.exec(text);
  const world = run?.[1] === 'demo' ? 'demo' : 'run';
  if (run !== null && Number(run[2]) > 0) return { job_id: Number(run[2]), cluster: privateCluster(world) };
  const match = /^(\d{1,10})(?:\.(\d{1,10}))?$/.exec(text);
  const job = Number(match?.[1] ?? 0);
  const task = match?.[2] === undefined ? undefined : Number(match[2]);
  if (job < 1 || task === 0)
    throw usageError(
      `"${text}" is not a job: write its number, as in 4711, or 4711.3 for task 3; run-7 is the seventh of "qmemacct run"`,
    );
  return task === undefined ? { job_id: job } : { job_id: job, task_id: task };
}

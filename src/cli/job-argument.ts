import { usageError } from './command-error';

/** A job, or one task of an array job, as Grid Engine writes them: "4711", "4711.3". */
export interface JobArgument {
  readonly job_id: number;
  readonly task_id?: number;
}

/** Throws a usage error where it is neither. */
export function parseJobArgument(text: string): JobArgument {
  const match = /^(\d{1,10})(?:\.(\d{1,10}))?$/.exec(text);
  const job = Number(match?.[1] ?? 0);
  const task = match?.[2] === undefined ? undefined : Number(match[2]);
  if (job < 1 || task === 0)
    throw usageError(`"${text}" is not a job: write its number, as in 4711, or 4711.3 for task 3`);
  return task === undefined ? { job_id: job } : { job_id: job, task_id: task };
}

/** A start of a job or task (ms since the epoch), and what it waited for. */
interface JobStart {
  readonly job: { readonly cluster: string | number; readonly job_id: number; readonly submitted_at: number };
  readonly task_id: number | null;
  readonly started_at: number;
  /** A queue, or one of its instances. */
  readonly queue: string | null;
  readonly limit_bytes: number | null;
}

/** How long a job or task waited for memory in a queue. */
export interface Wait {
  readonly queue: string;
  readonly limit: number;
  readonly seconds: number;
}

function waitOf({ job, started_at: started, queue: name, limit_bytes: limit }: JobStart): Wait | null {
  if (limit === null || limit <= 0) return null;
  const queue = name?.split('@', 1)[0] ?? '';
  const seconds = (started - job.submitted_at) / 1000;
  return queue === '' || !(seconds >= 0) ? null : { queue, limit, seconds };
}

/** The waits of jobs and tasks for their first start. */
export class FirstStarts {
  private readonly jobs = new Map<string, Map<number | null, Wait>>();
  /** The job of the last start, and its tasks: the next start is mostly of the same job. */
  private job: JobStart['job'] | null = null;
  private tasks = new Map<number | null, Wait>();

  add(start: JobStart): void {
    const wait = waitOf(start);
    if (wait === null) return;
    const { job, task_id: task } = start;
    const { cluster, job_id, submitted_at } = job;
    if (this.job?.job_id !== job_id || this.job.submitted_at !== submitted_at || this.job.cluster !== cluster) {
      this.job = job;
      const key = `${job_id} ${submitted_at} ${cluster}`;
      this.tasks = this.jobs.get(key) ?? new Map<number | null, Wait>();
      this.jobs.set(key, this.tasks);
    }
    if (wait.seconds < (this.tasks.get(task)?.seconds ?? Infinity)) this.tasks.set(task, wait);
  }

  get waits(): readonly Wait[] {
    return [...this.jobs.values()].flatMap((tasks) => [...tasks.values()]);
  }
}

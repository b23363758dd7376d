import { largestOfKnown, sumOfKnown } from '../../base/known';
import { shareOf } from '../../record/peak-figure';
import type { JobPart, JobView } from '../../live/cluster-view';
import { fullestPart } from '../../live/job-parts';

/**
 * The largest memory that is known of a whole job so far, in bytes: Grid Engine's maxvmem, the lower bound of our peak,
 * or what all its hosts hold now.
 */
export function peakOfJob({ maxvmem, ours }: JobView): number | null {
  return largestOfKnown([maxvmem, ours?.lower, ours?.rss]);
}

/** The memory that a job holds now, in bytes. */
export function presentOfJob({ vmem, ours }: JobView): number | null {
  return largestOfKnown([vmem, ours?.rss]);
}

/** The largest share of its limit that a job has used on any of its hosts; null: no limit, or no figures. */
export function shareOfJob(job: JobView): number | null {
  const { parts } = job;
  return parts.length === 0 ? shareOf(peakOfJob(job), job.limit) : (fullestPart(parts)?.share ?? null);
}

/** Grid Engine's maxvmem of a job on one host: its master task, the tasks that run, and those that have ended. */
export function maxvmemOfPart({ masterMaxvmem, tasks, pastMaxvmem }: JobPart): number | null {
  return sumOfKnown([masterMaxvmem, ...tasks.map(({ maxvmem }) => maxvmem), pastMaxvmem]);
}

/** Grid Engine's vmem of a job on one host: the memory of its master task and of the tasks that run. */
export function vmemOfPart({ masterVmem, tasks }: JobPart): number | null {
  return sumOfKnown([masterVmem, ...tasks.map(({ vmem }) => vmem)]);
}

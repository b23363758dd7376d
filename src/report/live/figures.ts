import { largestOfKnown, sumOfKnown } from '../../base/known';
import { shareOf } from '../../record/peak-figure';
import type { JobPart, JobView } from '../../live/cluster-view';
import { fullestPart } from '../../live/job-parts';

/**
 * The largest memory that is known of a whole job so far, in bytes: Grid Engine's maxvmem, the lower end of our peak, or
 * what all its hosts hold now.
 */
export function peakOfJob({ maxvmem, ours }: JobView): number | null {
  return largestOfKnown([maxvmem, ours?.lower, ours?.rss]);
}

/** What it holds now, in bytes. */
export function presentOfJob({ vmem, ours }: JobView): number | null {
  return largestOfKnown([vmem, ours?.rss]);
}

/** How much of its limit a job has used at most on one host, that where it was most; null: no limit, or no figures. */
export function shareOfJob(job: JobView): number | null {
  const { parts } = job;
  return parts.length === 0 ? shareOf(peakOfJob(job), job.limit) : (fullestPart(parts)?.share ?? null);
}

/** Grid Engine's maxvmem of a job on one host: its master task, the tasks that run, and those that have ended. */
export function maxvmemOfPart({ masterMaxvmem, tasks, pastMaxvmem }: JobPart): number | null {
  return sumOfKnown([masterMaxvmem, ...tasks.map(({ maxvmem }) => maxvmem), pastMaxvmem]);
}

/** The same of the memory in use now. */
export function vmemOfPart({ masterVmem, tasks }: JobPart): number | null {
  return sumOfKnown([masterVmem, ...tasks.map(({ vmem }) => vmem)]);
}

import type { JobView, PendingView } from '../../live/cluster-view';
import { peakOfJob, presentOfJob, shareOfJob } from './figures';
import type { Order } from './order';

interface Numbered {
  readonly job: number;
  readonly task?: number | null;
}

/** By job number and task: the order of equal rows. */
export function byNumber(a: Numbered, b: Numbered): number {
  return a.job - b.job || (a.task ?? 0) - (b.task ?? 0);
}

/** `--sort` of running jobs; the first is the default. */
export const JOB_ORDERS: readonly [Order<JobView>, ...Order<JobView>[]] = [
  { key: 'share', largestFirst: true, of: shareOfJob },
  { key: 'risk', largestFirst: false, of: (job) => job.trend?.limitAt ?? null },
  { key: 'peak', largestFirst: true, of: peakOfJob },
  { key: 'used', largestFirst: true, of: presentOfJob },
  { key: 'request', largestFirst: true, of: (job) => job.limit },
  { key: 'slots', largestFirst: true, of: (job) => job.slots },
  { key: 'time', largestFirst: false, of: (job) => job.startedAt },
  { key: 'owner', largestFirst: false, of: (job) => job.owner },
  { key: 'name', largestFirst: false, of: (job) => job.name },
  { key: 'host', largestFirst: false, of: (job) => job.parts[0]?.host ?? null },
  { key: 'job', largestFirst: false, of: (job) => job.job },
];

/** The same of waiting jobs: Grid Engine's own order first. */
export const PENDING_ORDERS: readonly [Order<PendingView>, ...Order<PendingView>[]] = [
  { key: 'priority', largestFirst: true, of: (job) => job.priority },
  { key: 'time', largestFirst: false, of: (job) => job.submittedAt },
  { key: 'slots', largestFirst: true, of: (job) => job.slots },
  { key: 'owner', largestFirst: false, of: (job) => job.owner },
  { key: 'name', largestFirst: false, of: (job) => job.name },
  { key: 'job', largestFirst: false, of: (job) => job.job },
];

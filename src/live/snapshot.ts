import type { Dialect } from '../gridengine/dialect';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob } from '../gridengine/qstat/job-list';
import type { HostView } from './cluster-view';

/**
 * What qmaster said, at one time for each of its commands; all users of a site or of a user's session share one. Times
 * in ms since the epoch.
 */
export interface Snapshot {
  readonly cluster: string;
  /** Directory of the cell (`ROOT/CELL`); left out: not known. */
  readonly cell?: string;
  readonly dialect: Dialect;
  /** `qhost -F -q -j`. */
  readonly hosts: Answer<readonly QhostHost[]>;
  /** `qstat -u '*' -s rs -r -ext -urg`: the jobs that run, suspended ones among them. */
  readonly running: Answer<readonly ListedJob[]>;
  /** `qstat -j` of those. */
  readonly details: Answer<readonly JobDetail[]>;
  /** `qstat -u '*' -s p -r -ext -urg`; null: nobody has asked for it. */
  readonly pending: Answer<readonly ListedJob[]> | null;
  /** Jobs are left out that this reader may not see: what hosts come to with those. Left out: all jobs are there. */
  readonly hostTotals?: readonly HostTotals[];
}

/** What of a host is added up from all of its jobs. */
export type HostTotals = Pick<HostView, 'name' | (typeof HOST_SUMS)[number]>;

export const HOST_SUMS = [
  'capacity',
  'requested',
  'peak',
  'used',
  'unlimited',
  'strandedMemory',
  'strandedSlots',
] as const satisfies readonly (keyof HostView)[];

/** The last good answer, and what came of the last try. */
export interface Answer<T> {
  /** When the command that gave `value` was started; null: there has been none yet, `value` is empty. */
  readonly at: number | null;
  readonly value: T;
  /** Why the last try failed, in one line with cause and fix; null: it did not. */
  readonly problem: string | null;
  readonly triedAt: number | null;
}

import type { Dialect } from '../gridengine/dialect';
import type { QhostHost } from '../gridengine/qhost/qhost-report';
import type { JobDetail } from '../gridengine/qstat/job-detail';
import type { ListedJob } from '../gridengine/qstat/job-list';
import type { HostView } from './cluster-view';

/**
 * qmaster's answers, each command's from one time; all users of a site, or one user's commands on a host, share one
 * snapshot. Times in ms since the epoch.
 */
export interface Snapshot {
  readonly cluster: string;
  /** Directory of the cell (`ROOT/CELL`); left out: not known. */
  readonly cell?: string;
  readonly dialect: Dialect;
  /** `qhost -F -q -j`. */
  readonly hosts: Answer<readonly QhostHost[]>;
  /** `qstat -u '*' -s rs -r -ext -urg`: running jobs, including suspended ones. */
  readonly running: Answer<readonly ListedJob[]>;
  /** `qstat -j` for the running jobs. */
  readonly details: Answer<readonly JobDetail[]>;
  /** `qstat -u '*' -s p -r -ext -urg`; null: nobody has asked for it. */
  readonly pending: Answer<readonly ListedJob[]> | null;
  /** The hosts' sums over all jobs, if some that the reader may not see are left out; absent: all jobs are there. */
  readonly hostTotals?: readonly HostTotals[];
}

/** The figures of a host that are sums over all its jobs. */
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

/** The last good answer, and the result of the last try. */
export interface Answer<T> {
  /** When the command that gave `value` was started; null: there is no answer yet, and `value` is empty. */
  readonly at: number | null;
  readonly value: T;
  /** Why the last try failed, in one line with cause and fix; null: it succeeded. */
  readonly problem: string | null;
  readonly triedAt: number | null;
}

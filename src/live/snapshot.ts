import type { ValueOf } from '../base/shape';
import type { HostView } from './cluster-view';
import type { snapshotShape } from './snapshot-json';

/**
 * qmaster's answers, each command's from one time; all users of a site, or one user's commands on a host, share one
 * snapshot. Times in ms since the epoch.
 */
export type Snapshot = ValueOf<typeof snapshotShape>;

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

import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { packageVersion } from '../../base/package-root';
import { clockIsSynchronised } from '../../native/libc';
import { privateWorld } from '../../record/job-name';
import type { NodeStatus } from '../../record/node-status';
import { clusterName, type Settings } from '../../record/settings';
import { runningListener } from '../listener/running';
import type { NodeStore } from '../node-store/node-store';

/** An admin's switch on one host: while this file exists the hooks exit at once (hooks/*.sh). */
export const DISABLED_FILE = '/etc/qmemacct/disabled';

const timeOf = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString());

/**
 * This host's status, not counting the rows of the outbox up to `sent`, which are sent with it. null: the store is a
 * user's own, not the host's.
 */
export function ownStatus(store: NodeStore, settings: Settings, sent = 0): NodeStatus | null {
  const cluster = clusterName(settings);
  if (privateWorld(cluster) !== null) return null;
  const { waiting, oldest, refused } = store.outboxState(sent);
  const always = settings.listener && settings.listener_linger === Infinity;
  return {
    cluster,
    host: hostname(),
    version: packageVersion(),
    scope: settings.scope,
    disabled: existsSync(DISABLED_FILE),
    listener: always ? runningListener(settings) !== null : null,
    clock_synchronised: clockIsSynchronised(),
    waiting,
    waiting_since: timeOf(oldest),
    refused,
    last_job_at: timeOf(store.lastJobMs()),
    failing_sources: store.failing(),
  };
}

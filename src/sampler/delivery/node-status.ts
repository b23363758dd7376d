import { existsSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { isoTimeOrNull } from '../../base/iso-time';
import { packageVersion } from '../../base/package-root';
import { checkJson, object, string } from '../../base/shape';
import { clockIsSynchronised } from '../../native/libc';
import { privateWorld } from '../../record/job-name';
import type { NodeStatus } from '../../record/node-status';
import { clusterName, type Settings } from '../../record/settings';
import { runningListener } from '../listener/running';
import { readText } from '../../sources/files';
import type { NodeStore } from '../node-store/node-store';

/** An admin's switch on one host: while this file exists the hooks exit at once (hooks/*.sh). */
export const DISABLED_FILE = '/etc/qmemacct/disabled';

/** In STATE: what the last installation or self-test on this host found. */
export const STAMP_FILE = 'installed';

const named = object({ host: string });

/** This host's name in Grid Engine, as the installation found it: its files may lie on a file system that hangs. */
export function ownHost({ state_dir: directory }: Pick<Settings, 'state_dir'>): string {
  const stamp = checkJson(named, readText(join(directory, STAMP_FILE)) ?? '', STAMP_FILE);
  return stamp.ok ? stamp.value.host : hostname();
}

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
    host: ownHost(settings),
    version: packageVersion(),
    scope: settings.scope,
    disabled: existsSync(DISABLED_FILE),
    listener: always ? runningListener(settings) !== null : null,
    clock_synchronised: clockIsSynchronised(),
    waiting,
    waiting_since: isoTimeOrNull(oldest),
    refused,
    last_job_at: isoTimeOrNull(store.lastJobMs()),
    failing_sources: store.failing(),
  };
}

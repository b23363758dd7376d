import { dirname } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { cellDirectory, isSameCell, namedCell } from '../gridengine/find-cell';
import type { Settings } from '../record/settings';
import { reasonOf } from '../base/user-error';
import { fetchSnapshot } from './fetch-snapshot';
import type { LiveCell } from './poll-tools';
import { newPollState, poll } from './poller';
import { privateDirectory } from './private-directory';
import { sharedState } from './shared-snapshot';
import type { Snapshot } from './snapshot';

interface LiveSnapshot {
  readonly snapshot: Snapshot;
  /** `server`: from `qmemacct serve`; `shared`: from the user's live commands on this host; `own`: asked for here. */
  readonly source: 'server' | 'shared' | 'own';
  /** Why no better source could be used, if the user should know. */
  readonly warning: string | null;
}

export interface LiveOptions {
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  /** Called when the cell is first needed; not if a server answers. */
  readonly cell: () => LiveCell;
  /** Whether to ask for waiting jobs. */
  readonly pending: boolean;
  readonly signal?: AbortSignal;
}

/** The server asks for waiting jobs only when somebody wants them, so its first answer may lack them. */
const PENDING_TRIES = 5;
const PENDING_PAUSE_MS = 500;

/** Whether a snapshot is from another cell than the user's environment names. */
function isOfOtherCell({ cell }: Snapshot, { SGE_ROOT: root, SGE_CELL: named }: NodeJS.ProcessEnv): boolean {
  if (cell === undefined || !(root || named)) return false;
  const own = namedCell({ SGE_ROOT: root || dirname(cell), SGE_CELL: named });
  return own !== null && !isSameCell(cell, cellDirectory(own));
}

/** The server's snapshot; null: the site runs no server, or none for this cell. */
async function ofServer({ settings, env, pending, signal }: LiveOptions): Promise<Snapshot | null> {
  for (let tries = 1; ; tries++) {
    const snapshot = await fetchSnapshot(settings.serve_socket, { pending, signal });
    if (snapshot === null || isOfOtherCell(snapshot, env)) return null;
    if (!pending || snapshot.pending !== null || tries === PENDING_TRIES) return snapshot;
    await sleep(PENDING_PAUSE_MS, undefined, { signal });
  }
}

/** Long enough for each query, a few batches of `qstat -j`, and reading and writing. */
function longestPollMs(settings: Settings): number {
  return (5 * settings.command_timeout + 10) * 1000;
}

/**
 * qmaster's answers, with the least load on qmaster: from the site's server, else as shared by this user's live
 * commands, else by asking. Failures are problems in the snapshot; rejects only when `signal` is aborted.
 */
export async function liveSnapshot(options: LiveOptions): Promise<LiveSnapshot> {
  const { settings, env, pending, signal } = options;
  let warning: string | null = null;
  try {
    const snapshot = await ofServer(options);
    if (snapshot !== null) return { snapshot, source: 'server', warning };
  } catch (error) {
    signal?.throwIfAborted();
    warning = `qmemacct serve gave no answer (${reasonOf(error)}); qmaster is asked`;
  }
  const { cell, cluster, rules, tools } = options.cell();
  try {
    const { snapshot } = await sharedState({
      directory: privateDirectory(env),
      cluster,
      cell,
      rules,
      pending,
      poll: (before) => poll(before, rules, tools, pending, signal),
      longestPollMs: longestPollMs(settings),
      signal,
    });
    signal?.throwIfAborted();
    return { snapshot, source: 'shared', warning };
  } catch (error) {
    signal?.throwIfAborted();
    warning = `what qmaster says can't be shared with other commands (${reasonOf(error)})`;
  }
  const { snapshot } = await poll(newPollState(cluster), rules, tools, pending, signal);
  signal?.throwIfAborted();
  return { snapshot, source: 'own', warning };
}

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
  /** `server`: the site's, of `qmemacct serve`; `shared`: that of this user's live commands; `own`: asked for by us alone. */
  readonly source: 'server' | 'shared' | 'own';
  /** Why it is not a better source, where the user should know. */
  readonly warning: string | null;
}

export interface LiveOptions {
  readonly settings: Settings;
  readonly env: NodeJS.ProcessEnv;
  /** Made when it is first needed: no cell is looked for where a server answers. */
  readonly cell: () => LiveCell;
  /** Whether jobs that wait are asked for. */
  readonly pending: boolean;
  readonly signal?: AbortSignal;
}

/** The server asks for jobs that wait only when somebody wants them: its first answer may be without. */
const PENDING_TRIES = 5;
const PENDING_PAUSE_MS = 500;

/** Whether it is of another cell than that which the user's environment names. */
function isOfOtherCell({ cell }: Snapshot, { SGE_ROOT: root, SGE_CELL: named }: NodeJS.ProcessEnv): boolean {
  if (cell === undefined || !(root || named)) return false;
  const own = namedCell({ SGE_ROOT: root || dirname(cell), SGE_CELL: named });
  return own !== null && !isSameCell(cell, cellDirectory(own));
}

/** null: the site runs no server, or none for this cell. */
async function ofServer({ settings, env, pending, signal }: LiveOptions): Promise<Snapshot | null> {
  for (let tries = 1; ; tries++) {
    const snapshot = await fetchSnapshot(settings.serve_socket, {
      pending,
      ...(signal === undefined ? {} : { signal }),
    });
    if (snapshot === null || isOfOtherCell(snapshot, env)) return null;
    if (!pending || snapshot.pending !== null || tries === PENDING_TRIES) return snapshot;
    await sleep(PENDING_PAUSE_MS, undefined, signal === undefined ? {} : { signal });
  }
}

/** One query of each command, a few batches of `qstat -j`, and the time to read and write. */
function longestPollMs(settings: Settings): number {
  return (5 * settings.command_timeout + 10) * 1000;
}

/**
 * What qmaster said, by the politest way that there is: of the site's server, else of what this user's other live
 * commands have asked for, else by asking. What fails is a problem in the snapshot; rejects only when `signal` is aborted.
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
      ...(signal === undefined ? {} : { signal }),
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

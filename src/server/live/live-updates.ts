import type { LiveCell } from '../../live/poll-tools';
import { ownSource, startPolling, type Source } from '../../live/polling';
import type { Snapshot } from '../../live/snapshot';
import { hVmemPer } from '../../live/requests';
import { viewCluster } from '../../live/view';
import { logChanges, reasonOf } from '../../base/log';
import type { JobRecord } from '../../record/record';
import type { Settings } from '../../record/settings';
import type { AccountingService } from '../accounting/accounting-thread';
import { newLiveState, type LiveState } from './live-state';
import { FULL_ACCESS } from '../access/access';

interface LiveUpdatesOptions {
  readonly settings: Settings;
  readonly cell: LiveCell;
  /** For what the samplers of all hosts say of running jobs. */
  readonly accounting: AccountingService;
  readonly log: (line: string) => void;
  /** Asks qmaster; a test may put something else there. */
  readonly source?: (pending: () => boolean) => Source;
}

/** The live state, and who keeps it up to date. */
export interface LiveUpdates {
  readonly live: LiveState;
  /** Has the jobs that wait asked for, for a while. */
  readonly wantPending: () => void;
  readonly stop: () => Promise<void>;
}

/** Heartbeats that may be missing before a job's last figures are none any more. */
const MISSED_HEARTBEATS = 10;
/** Intervals for which one request for the jobs that wait holds. */
const WANTED_INTERVALS = 6;

/** Silence from which nobody asks qmaster any more: a poll rests five times what it took, and backs off for 5 min. */
function overdueAfter({ poll_interval: interval, command_timeout: timeout }: Settings): number {
  return 300_000 + (3 * interval + 10 * timeout) * 1000;
}

function problemOf({ running, hosts, details }: Snapshot): string | null {
  const problem = running.problem ?? hosts.problem ?? details.problem;
  return problem === null ? null : `Grid Engine: ${problem}`;
}

/** Asks qmaster every poll_interval, and the accounting DB twice in a heartbeat; whatever fails, goes on. */
export function startLiveUpdates({ settings, cell, accounting, log, source }: LiveUpdatesOptions): LiveUpdates {
  let records: readonly JobRecord[] = [];
  let wantedUntil = -Infinity;
  const live = newLiveState({
    makeView: (snapshot) =>
      viewCluster(snapshot, records, {
        hVmem: hVmemPer(records),
        memoryComplexes: settings.memory_complexes,
        nowMs: Date.now(),
      }),
    log,
    overdueMs: overdueAfter(settings),
    now: Date.now,
  });

  const heartbeatMs = settings.heartbeat * 1000;
  const hear = async (): Promise<void> => {
    try {
      const since = Date.now() - MISSED_HEARTBEATS * heartbeatMs;
      const bytes = await accounting.ask({ what: 'running', query: { since, cluster: cell.cluster } }, FULL_ACCESS);
      // Written by the thread of this process, from records that were checked when they were stored.
      records = (JSON.parse(bytes.toString('utf8')) as { readonly records: readonly JobRecord[] }).records;
    } catch {
      // The server's own look at the accounting DB tells of it; what was heard last stands.
    }
  };
  const listening = heartbeatMs > 0 ? setInterval(() => void hear(), Math.max(heartbeatMs / 2, 5000)) : null;
  listening?.unref();

  const logGridEngine = logChanges(log, 'Grid Engine answers again');
  const pending = (): boolean => Date.now() < wantedUntil;
  let heard = heartbeatMs === 0;
  const first = async <T>(wait: Promise<T>): Promise<T> => {
    const [answer] = await Promise.all([wait, heard ? undefined : hear()]);
    heard = true;
    return answer;
  };
  const asked = (source ?? ((wanted) => ownSource(cell, wanted)))(pending);
  const polling = startPolling(
    settings,
    (signal) => first(asked(signal)),
    (snapshot) => {
      logGridEngine(problemOf(snapshot));
      live.put(snapshot);
    },
    (error) => log(`asking Grid Engine failed, which is a bug: ${reasonOf(error)}`),
  );
  return {
    live,
    wantPending: () => {
      const already = pending();
      wantedUntil = Date.now() + WANTED_INTERVALS * settings.poll_interval * 1000;
      if (!already) polling.wake();
    },
    stop: async () => {
      if (listening !== null) clearInterval(listening);
      await polling.stop();
    },
  };
}

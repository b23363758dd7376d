import { setTimeout as sleep } from 'node:timers/promises';
import type { LiveCell } from '../../live/poll-tools';
import { ownSource, startPolling, type Polling, type Source } from '../../live/polling';
import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { viewCluster } from '../../live/view';
import { reasonOf } from '../../base/user-error';
import { logChanges } from '../../base/log';
import type { JobRecord } from '../../record/record';
import { RequestRules } from '../../record/request-rules';
import type { Settings } from '../../record/settings';
import type { AccountingService } from '../accounting/accounting-thread';
import { LiveState } from './live-state';
import { FULL_ACCESS } from '../access/access';

interface LiveUpdatesOptions {
  readonly settings: Settings;
  readonly cell: LiveCell;
  /** Asked for the samplers' heartbeats of running jobs. */
  readonly accounting: AccountingService;
  readonly log: (line: string) => void;
  /** Asks qmaster; tests pass another. */
  readonly source?: (pending: () => boolean) => Source;
}

/** After this many missing heartbeats, a job's last figures no longer count. */
const MISSED_HEARTBEATS = 10;
/** Poll intervals for which qmaster is asked for pending jobs after somebody wanted them. */
const WANTED_INTERVALS = 6;
/** How long a request for pending jobs waits for qmaster's answer. */
const PENDING_PATIENCE_MS = 5000;

/** ms of silence that show that polling has ended: a poll rests five times what it took, and backs off for 5 min. */
function overdueAfter({ poll_interval: interval, command_timeout: timeout }: Settings): number {
  return 300_000 + (3 * interval + 10 * timeout) * 1000;
}

function problemOf({ running, hosts, details }: Snapshot): string | null {
  const problem = running.problem ?? hosts.problem ?? details.problem;
  return problem === null ? null : `Grid Engine: ${problem}`;
}

/** A request for the pending jobs; `done` resolves when their list is new or asking failed, after 5 s at most. */
class AskedFor {
  private readonly since = Date.now();
  private readonly answered = new AbortController();
  readonly done: Promise<void> = sleep(PENDING_PATIENCE_MS, undefined, { signal: this.answered.signal }).catch(
    () => undefined,
  );

  look({ running, pending }: Snapshot): void {
    if ((pending?.triedAt ?? -Infinity) >= this.since || running.problem !== null) this.answered.abort();
  }
}

/** Asks qmaster every poll_interval, and the accounting DB twice per heartbeat interval; goes on after any failure. */
export class LiveUpdates {
  readonly live: LiveState;
  private readonly logGridEngine: (problem: string | null) => void;
  private readonly polling: Polling;
  private readonly heartbeats: NodeJS.Timeout | null;
  /** What the samplers of all hosts said last of running jobs. */
  private records: readonly JobRecord[] = [];
  private heard: boolean;
  private pendingUntil = -Infinity;
  private pendingAsked: AskedFor | null = null;

  constructor(private readonly options: LiveUpdatesOptions) {
    const { settings, cell, log, source = (wanted: () => boolean) => ownSource(cell, wanted) } = options;
    this.logGridEngine = logChanges(log, 'Grid Engine answers again');
    this.live = new LiveState({
      makeView: (snapshot) => this.view(snapshot),
      log,
      overdueMs: overdueAfter(settings),
      now: () => performance.now(),
    });
    const heartbeatMs = settings.heartbeat * 1000;
    this.heard = heartbeatMs === 0;
    const everyMs = Math.max(heartbeatMs / 2, 5000);
    this.heartbeats = this.heard ? null : setInterval(() => void this.readHeartbeats(), everyMs).unref();
    const asked = source(() => this.wantsPending());
    this.polling = startPolling(
      settings,
      (signal) => this.afterHeartbeats(asked(signal)),
      (snapshot) => {
        this.logGridEngine(problemOf(snapshot));
        this.live.put(snapshot);
        this.pendingAsked?.look(snapshot);
      },
      (error) => log(`asking Grid Engine failed, which is a bug: ${reasonOf(error)}`),
    );
  }

  /**
   * Has qmaster asked for the pending jobs for a while. Resolves when their list is as new as the rest, or asking
   * failed, after 5 s at most.
   */
  readonly wantPending = (): Promise<void> => {
    const already = this.wantsPending();
    this.pendingUntil = performance.now() + WANTED_INTERVALS * this.options.settings.poll_interval * 1000;
    if (!already) {
      this.pendingAsked = new AskedFor();
      this.polling.wake();
    }
    return this.pendingAsked?.done ?? Promise.resolve();
  };

  async stop(): Promise<void> {
    if (this.heartbeats !== null) clearInterval(this.heartbeats);
    await this.polling.stop();
  }

  private wantsPending(): boolean {
    return performance.now() < this.pendingUntil;
  }

  private view(snapshot: Snapshot): ClusterView {
    const nowMs = Date.now();
    // The records may be old: the accounting DB may not have answered for long.
    const since = this.since(nowMs);
    const records = this.records.filter(({ revision }) => revision >= since);
    return viewCluster(snapshot, records, { rules: new RequestRules(this.options.settings), nowMs });
  }

  /** The oldest heartbeat that still counts, ms since the epoch. */
  private since(nowMs: number): number {
    return nowMs - MISSED_HEARTBEATS * this.options.settings.heartbeat * 1000;
  }

  /** Lets the first view wait for the heartbeats, so that it has the samplers' figures. */
  private async afterHeartbeats<T>(wait: Promise<T>): Promise<T> {
    const [answer] = await Promise.all([wait, this.heard ? undefined : this.readHeartbeats()]);
    this.heard = true;
    return answer;
  }

  private async readHeartbeats(): Promise<void> {
    const { accounting, cell } = this.options;
    try {
      const query = { since: this.since(Date.now()), cluster: cell.cluster };
      const bytes = await accounting.ask({ what: 'running', query }, FULL_ACCESS);
      // Not checked: a thread of this process wrote it, from records that were checked when they were stored.
      this.records = (JSON.parse(bytes.toString('utf8')) as { readonly records: readonly JobRecord[] }).records;
    } catch {
      // The server logs that the accounting DB can't be read; what was heard last stands for a while.
    }
  }
}

import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { reasonOf } from '../../base/log';

/** What the live routes answer from: another object whenever something has changed. */
export interface LiveCluster {
  readonly snapshot: Snapshot;
  /** Of this snapshot; null: none could be made of any yet. */
  readonly view: ClusterView | null;
}

/** The newest state of the cluster, in memory: reading it never waits, and no failure takes away what is there. */
export interface LiveState {
  /** null: nothing has come yet. */
  readonly current: () => LiveCluster | null;
  readonly put: (snapshot: Snapshot) => void;
}

interface BoardOptions {
  readonly makeView: (snapshot: Snapshot) => ClusterView;
  /** Told of a view that could not be made. */
  readonly log: (line: string) => void;
  /** ms without a new snapshot from which the last one counts as left behind. */
  readonly overdueMs: number;
  /** ms since the epoch. */
  readonly now: () => number;
}

/** The same state with something amiss. */
function withProblem({ snapshot, view }: LiveCluster, problem: string): LiveCluster {
  const amiss = <T extends { readonly problem: string | null }>(answer: T): T => ({
    ...answer,
    problem: answer.problem ?? problem,
  });
  return {
    snapshot: { ...snapshot, hosts: amiss(snapshot.hosts), running: amiss(snapshot.running) },
    view: view === null ? null : { ...view, problems: [...new Set([...view.problems, problem])] },
  };
}

/** A live state without anything on it. */
export function newLiveState({ makeView, log, overdueMs, now }: BoardOptions): LiveState {
  let live: LiveCluster | null = null;
  let putAt = 0;
  let overdue: LiveCluster | null = null;

  const next = (snapshot: Snapshot): LiveCluster => {
    try {
      return { snapshot, view: makeView(snapshot) };
    } catch (error) {
      const problem = `the newest answers of qmaster could not be put together (${reasonOf(error)}), which is a bug`;
      log(problem);
      return withProblem(live?.view ? live : { snapshot, view: null }, problem);
    }
  };
  return {
    current: () => {
      const silence = now() - putAt;
      if (live === null || silence < overdueMs) return live;
      overdue ??= withProblem(live, 'nobody asks qmaster any more; restart qmemacct serve');
      return overdue;
    },
    put: (snapshot) => {
      live = next(snapshot);
      putAt = now();
      overdue = null;
    },
  };
}

import type { ClusterView } from '../../live/cluster-view';
import type { Snapshot } from '../../live/snapshot';
import { reasonOf } from '../../base/user-error';

/** What the live routes answer from: a new object whenever something has changed. */
export interface LiveCluster {
  readonly snapshot: Snapshot;
  /** The view of this snapshot; null: none could be made yet. */
  readonly view: ClusterView | null;
}

interface LiveStateOptions {
  readonly makeView: (snapshot: Snapshot) => ClusterView;
  /** Says that a view could not be made. */
  readonly log: (line: string) => void;
  /** ms without a new snapshot after which the last one counts as outdated. */
  readonly overdueMs: number;
  /** ms of a monotonic clock. */
  readonly now: () => number;
}

/** The state with a problem added to it. */
function withProblem({ snapshot, view }: LiveCluster, problem: string): LiveCluster {
  const withIt = <T extends { readonly problem: string | null }>(answer: T): T => ({
    ...answer,
    problem: answer.problem ?? problem,
  });
  return {
    snapshot: { ...snapshot, hosts: withIt(snapshot.hosts), running: withIt(snapshot.running) },
    view: view === null ? null : { ...view, problems: [...new Set([...view.problems, problem])] },
  };
}

/** The newest state of the cluster, in memory: reading it never waits, and no failure takes away what is there. */
export class LiveState {
  private live: LiveCluster | null = null;
  private putAt = 0;
  private overdue: LiveCluster | null = null;

  constructor(private readonly options: LiveStateOptions) {}

  /** null: nothing has come yet. */
  current(): LiveCluster | null {
    const { now, overdueMs } = this.options;
    if (this.live === null || now() - this.putAt < overdueMs) return this.live;
    this.overdue ??= withProblem(this.live, 'qmaster is no longer asked; restart qmemacct serve');
    return this.overdue;
  }

  put(snapshot: Snapshot): void {
    this.live = this.next(snapshot);
    this.putAt = this.options.now();
    this.overdue = null;
  }

  private next(snapshot: Snapshot): LiveCluster {
    try {
      return { snapshot, view: this.options.makeView(snapshot) };
    } catch (error) {
      const problem = `the newest answers of qmaster could not be put together (${reasonOf(error)}), which is a bug`;
      this.options.log(problem);
      return withProblem(this.live?.view ? this.live : { snapshot, view: null }, problem);
    }
  }
}

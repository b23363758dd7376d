import { monotonicMs } from '../../base/monotonic';
import { NodeStore } from '../node-store/node-store';
import type { SharedStore } from '../node-store/storage';

/** Locks of others are waited for in the middle of all jobs' work: an epilog has no more than 4 s. */
const BUSY_MS = 700;
/** After a failure nobody waits for another one so soon. */
const REST_MS = 5000;

interface StoreHandlers {
  /** A job's progress is in it. */
  readonly saved: (store: NodeStore) => void;
  /** A summary waits in the outbox. */
  readonly committed: () => void;
}

/** node.db for all jobs of one process. */
export function shareStore(stateDirectory: string, { saved, committed }: StoreHandlers): SharedStore {
  let store: NodeStore | null = null;
  let restUntilMs = -Infinity;

  function letGo(): void {
    const broken = store;
    store = null;
    broken?.close();
  }

  return {
    open: () => {
      if (monotonicMs() < restUntilMs) throw new Error('it failed a moment ago');
      if (store?.isInPlace() === false) letGo();
      if (store === null) {
        try {
          store = new NodeStore(stateDirectory, BUSY_MS);
        } catch (error) {
          restUntilMs = monotonicMs() + REST_MS;
          throw error;
        }
      }
      return store;
    },
    failed: (broken) => {
      if (broken === null || broken !== store) return;
      restUntilMs = monotonicMs() + REST_MS;
      letGo();
    },
    saved: () => {
      if (store !== null) saved(store);
    },
    committed,
  };
}

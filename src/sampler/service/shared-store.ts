import { monotonicMs } from '../../base/monotonic';
import { NodeStore } from '../node-store/node-store';
import type { SharedStore } from '../node-store/storage';

/** Waiting for other processes' locks holds up all jobs, and an epilog waits 4 s at most. */
const BUSY_MS = 700;
/** After a failure `open` fails at once for so long: no job is to wait for the next failure. */
const REST_MS = 5000;

interface StoreHandlers {
  /** A job's progress has been saved. */
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

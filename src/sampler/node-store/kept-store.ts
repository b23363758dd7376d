import { monotonicMs } from '../../base/monotonic';
import { NodeStore } from './node-store';

/** node.db as a process keeps it open: opened when it is first needed, and anew where it failed or was replaced. */
export class KeptStore {
  private store: NodeStore | null = null;
  private restUntilMs = -Infinity;

  /** `busyMs`: as for NodeStore; `restMs`: how long `open` fails at once after a failure. */
  constructor(
    private readonly stateDirectory: string,
    private readonly busyMs?: number,
    private readonly restMs = 0,
  ) {}

  /** null: it is not open now. */
  get opened(): NodeStore | null {
    return this.store;
  }

  /** Throws when it can't be opened. */
  open(): NodeStore {
    if (monotonicMs() < this.restUntilMs) throw new Error('it failed a moment ago');
    if (this.store?.isInPlace() === false) this.close();
    if (this.store !== null) return this.store;
    try {
      this.store = new NodeStore(this.stateDirectory, this.busyMs);
      return this.store;
    } catch (error) {
      this.restUntilMs = monotonicMs() + this.restMs;
      throw error;
    }
  }

  /** Reports that a store has failed; null, or one that is no longer open: nothing happens. */
  failed(broken: NodeStore | null): void {
    if (broken === null || broken !== this.store) return;
    this.restUntilMs = monotonicMs() + this.restMs;
    this.close();
  }

  close(): void {
    const old = this.store;
    this.store = null;
    try {
      old?.close();
    } catch {
      // It is broken already.
    }
  }
}

import type { Connection } from './connect';
import type { WaitingAccounts } from './inbox';
import type { Source } from './record-filter';
import { Snapshot } from './snapshot';

const READING = 'isolation level repeatable read read only';
/** For this transaction: compiling a query of some thirty joins takes ten times as long as reading a page by it. */
const WITHOUT_JIT = "SELECT set_config('jit', 'off', true)";

/** A transaction from which queries are answered. */
interface Open {
  readonly snapshot: Promise<Snapshot>;
  /** Never resolves; rejects if the transaction fails, since its statements may then never settle. */
  readonly failure: Promise<never>;
  readonly end: () => void;
  /** How many queries are being answered from it. */
  asked: number;
  /** Whether it ends with the last of these. */
  over: boolean;
}

/**
 * Answers queries from the same snapshot for `forMs`, so that the queries of one page see the same moment, and the
 * inbox is read once for all of them. 0: each query has its own snapshot.
 */
export class SharedSnapshot {
  private current: Open | null = null;

  constructor(
    private readonly db: Pick<Connection, 'transaction'>,
    private readonly accounts: WaitingAccounts,
    private readonly forMs: number,
  ) {}

  async ask<T>(source: Source, question: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    const open = this.current ?? this.begin(source);
    open.asked++;
    try {
      return await Promise.race([open.snapshot.then(question), open.failure]);
    } catch (error) {
      // After a failed statement nothing more can be read in this transaction.
      this.leave(open);
      throw error;
    } finally {
      open.asked--;
      if (open.over && open.asked === 0) open.end();
    }
  }

  /** Ends the snapshot, once the queries under way are answered. */
  close(): void {
    if (this.current !== null) this.leave(this.current);
  }

  private leave(open: Open): void {
    if (this.current === open) this.current = null;
    open.over = true;
    if (open.asked === 0) open.end();
  }

  private begin(source: Source): Open {
    let end: () => void = () => undefined;
    const ended = new Promise<void>((resolve) => (end = resolve));
    let begun: (snapshot: Snapshot) => void = () => undefined;
    const snapshot = new Promise<Snapshot>((resolve) => (begun = resolve));
    const transaction = this.db.transaction(async (inner) => {
      await inner.rows(WITHOUT_JIT);
      begun(new Snapshot(inner, source, this.accounts));
      await ended;
    }, READING);
    const failure = new Promise<never>((_, reject) => void transaction.catch(reject));
    // The transaction may fail while no query is being answered.
    failure.catch(() => this.leave(open));
    const open: Open = { snapshot, failure, end, asked: 0, over: this.forMs === 0 };
    if (this.forMs > 0) {
      this.current = open;
      setTimeout(() => this.leave(open), this.forMs).unref();
    }
    return open;
  }
}

import type { Connection } from './connect';
import type { WaitingAccounts } from './inbox';
import type { Source } from './record-filter';
import { Snapshot } from './snapshot';

const READING = 'isolation level repeatable read read only';
/** In this transaction: to compile a query of some thirty joins takes ten times as long as to read a page by it. */
const WITHOUT_JIT = "SELECT set_config('jit', 'off', true)";

/** A transaction that questions are answered from. */
interface Open {
  readonly snapshot: Promise<Snapshot>;
  /** Never resolves; rejects where the transaction fails: then nothing of it is settled any more. */
  readonly failure: Promise<never>;
  readonly end: () => void;
  /** Questions that are being answered from it. */
  asked: number;
  /** It ends with the last of them. */
  over: boolean;
}

/**
 * What questions are answered from: for `forMs` the same snapshot, so that those of one page see one moment, and what
 * waits in the inbox is read once for all of them. 0: each question has its own.
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
      // A statement that failed has ended what can be read from it.
      this.leave(open);
      throw error;
    } finally {
      open.asked--;
      if (open.over && open.asked === 0) open.end();
    }
  }

  /** The next question begins anew. */
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
    // It may fail while nobody asks.
    failure.catch(() => this.leave(open));
    const open: Open = { snapshot, failure, end, asked: 0, over: this.forMs === 0 };
    if (this.forMs > 0) {
      this.current = open;
      setTimeout(() => this.leave(open), this.forMs).unref();
    }
    return open;
  }
}

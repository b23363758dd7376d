import { monotonicMs } from '../../base/monotonic';
import { backoffMs } from '../../accounting/retry';
import { logChanges } from '../../base/log';
import { sendAll, type Sink } from './sink';
import type { Spool } from './spool';

/** Sends to one sink: tracks when the next try is due, and logs changes. */
export class Delivery<Item> {
  private readonly say: (problem: string | null) => void;
  private failures = 0;
  private notBefore = 0;
  private refusal = '';

  /** `log` gets each change once. */
  constructor(
    private readonly sink: Sink<Item>,
    private readonly spool: Spool,
    private readonly log: (line: string) => void,
  ) {
    this.say = logChanges(log, 'it is sent to again');
  }

  /** false: the last try failed, and the wait after it is not over. */
  get isDue(): boolean {
    return monotonicMs() >= this.notBefore;
  }

  /** Resolves to null if the sink has the items, else to why not. Items refused for good are counted, not retried. */
  async send(items: readonly Item[]): Promise<string | null> {
    const outcome = await sendAll(this.sink, items);
    if (outcome.kind !== 'sent') {
      const { reason, waitMs } = outcome.kind === 'later' ? outcome : { reason: 'all is too large for it', waitMs: 0 };
      this.notBefore = monotonicMs() + Math.max(waitMs, backoffMs(++this.failures));
      this.say(`nothing is sent: ${reason}`);
      return reason;
    }
    this.failures = 0;
    this.say(null);
    if (outcome.refused > 0) this.refused(outcome.refused, outcome.reason, items.length);
    return null;
  }

  private refused(count: number, reason: string, of: number): void {
    this.spool.update({ refused: this.spool.state.refused + count });
    if (reason !== this.refusal) this.log(`it rejects ${count} of ${of} for good: ${reason}`);
    this.refusal = reason;
  }
}

/** Takes new data of a source, and sends it to a sink. */
export interface Push {
  /** Spools the present figures, if nothing else keeps them. Rejects if they can't be read or stored. */
  readonly take: () => Promise<void>;
  /** Resolves to the problem; null: everything is sent. */
  readonly send: (signal: AbortSignal) => Promise<string | null>;
}

/** Takes and sends once. */
export async function takeAndSend(push: Push, signal: AbortSignal): Promise<string | null> {
  try {
    await push.take();
  } catch (error) {
    // If the disk is full, sending makes room.
    await push.send(signal);
    throw error;
  }
  return push.send(signal);
}

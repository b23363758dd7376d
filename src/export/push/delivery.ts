import { monotonicMs } from '../../base/monotonic';
import { backoffMs } from '../../accounting/retry';
import { logChanges } from '../../base/log';
import { sendAll, type Sink } from './sink';
import type { Spool } from './spool';

/** Sending to one sink: when the next try is due, and what is said of it. */
export class Delivery<Item> {
  readonly #say: (problem: string | null) => void;
  #failures = 0;
  #notBefore = 0;
  #refusal = '';

  /** `log` hears of each change, once. */
  constructor(
    private readonly sink: Sink<Item>,
    private readonly spool: Spool,
    private readonly log: (line: string) => void,
  ) {
    this.#say = logChanges(log, 'it is sent to again');
  }

  /** false: the last try failed a short time ago. */
  get isDue(): boolean {
    return monotonicMs() >= this.#notBefore;
  }

  /** null: the sink has them; else why not. What it will never take is counted, and not tried again. */
  async send(items: readonly Item[]): Promise<string | null> {
    const outcome = await sendAll(this.sink, items);
    if (outcome.kind !== 'sent') {
      const { reason, waitMs } = outcome.kind === 'later' ? outcome : { reason: 'all is too large for it', waitMs: 0 };
      this.#notBefore = monotonicMs() + Math.max(waitMs, backoffMs(++this.#failures));
      this.#say(`nothing is sent: ${reason}`);
      return reason;
    }
    this.#failures = 0;
    this.#say(null);
    if (outcome.refused > 0) this.#refused(outcome.refused, outcome.reason, items.length);
    return null;
  }

  #refused(count: number, reason: string, of: number): void {
    this.spool.update({ refused: this.spool.state.refused + count });
    if (reason !== this.#refusal) this.log(`it rejects ${count} of ${of} for good: ${reason}`);
    this.#refusal = reason;
  }
}

/** What is new of a source, and its sending. */
export interface Push {
  /** Keeps what is there now, where nothing else does. Rejects where there is none, or no place for it. */
  readonly take: () => Promise<void>;
  /** Resolves to what is wrong; null: all that was there is sent. */
  readonly send: (signal: AbortSignal) => Promise<string | null>;
}

/** Takes and sends once. */
export async function takeAndSend(push: Push, signal: AbortSignal): Promise<string | null> {
  try {
    await push.take();
  } catch (error) {
    // On a full disk that makes room.
    await push.send(signal);
    throw error;
  }
  return push.send(signal);
}

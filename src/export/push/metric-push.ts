import { Delivery, type Push } from './delivery';
import type { Point } from './point';
import type { Sink } from './sink';
import type { Spool } from './spool';

/** Sends figures as they are at each round; those that can't be sent wait in the spool. */
export class MetricPush implements Push {
  readonly #delivery: Delivery<Point>;
  #isDropping = false;

  constructor(
    sink: Sink<Point>,
    private readonly spool: Spool,
    private readonly collect: () => Promise<readonly Point[]>,
    private readonly log: (line: string) => void,
  ) {
    this.#delivery = new Delivery(sink, spool, log);
  }

  /** Rejects where there are no figures, or no place for them; what waits has been tried before. */
  async round(signal: AbortSignal): Promise<string | null> {
    try {
      const points = await this.collect();
      if (points.length > 0) this.noteDropping(this.spool.add(points));
    } catch (error) {
      // On a full disk that makes room.
      await this.sendWaiting(signal);
      throw error;
    }
    return this.sendWaiting(signal);
  }

  private async sendWaiting(signal: AbortSignal): Promise<string | null> {
    if (!this.#delivery.isDue) return 'the next try is not due';
    while (!signal.aborted) {
      const batch = this.spool.oldest();
      if (batch === null) return null;
      const problem = await this.#delivery.send(batch.points);
      if (problem !== null) return problem;
      this.spool.remove(batch.name);
    }
    return 'ended early';
  }

  private noteDropping(isDropping: boolean): void {
    if (isDropping && !this.#isDropping)
      this.log('its spool is full: the oldest figures are dropped; a larger "spool_mib" keeps more');
    if (!isDropping && this.#isDropping)
      this.log(`its spool has room again; ${this.spool.state.dropped} rounds of figures have been dropped so far`);
    this.#isDropping = isDropping;
  }
}

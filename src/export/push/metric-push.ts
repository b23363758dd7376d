import { Delivery, type Push } from './delivery';
import type { Point } from './point';
import type { Sink } from './sink';
import type { Spool } from './spool';

/** Sends the present figures of each round; figures that can't be sent wait in the spool. */
export class MetricPush implements Push {
  private readonly delivery: Delivery<Point>;
  private isDropping = false;
  /** The batch that is with the sink. */
  private sending: string | null = null;

  constructor(
    sink: Sink<Point>,
    private readonly spool: Spool,
    private readonly collect: () => Promise<readonly Point[]>,
    private readonly log: (line: string) => void,
  ) {
    this.delivery = new Delivery(sink, spool, log);
  }

  async take(): Promise<void> {
    const points = await this.collect();
    if (points.length > 0) this.noteDropping(this.spool.add(points, this.sending));
  }

  /** Rejects if the spool can't be read or written. */
  async send(signal: AbortSignal): Promise<string | null> {
    if (!this.delivery.isDue) return 'the next try is not due';
    while (!signal.aborted) {
      const batch = this.spool.oldest();
      if (batch === null) return null;
      this.sending = batch.name;
      const problem = await this.delivery.send(batch.points).finally(() => (this.sending = null));
      if (problem !== null) return problem;
      this.spool.remove(batch.name);
    }
    return 'ended early';
  }

  private noteDropping(isDropping: boolean): void {
    if (isDropping && !this.isDropping)
      this.log('its spool is full: the oldest figures are dropped; a larger "spool_mib" keeps more');
    if (!isDropping && this.isDropping)
      this.log(`its spool has room again; ${this.spool.state.dropped} rounds of figures have been dropped so far`);
    this.isDropping = isDropping;
  }
}

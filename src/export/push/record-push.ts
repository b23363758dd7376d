import type { NumberedRecord, RecordFeed } from '../../accounting/record-feed';
import { isLineOnly } from '../../record/coverage';
import type { JobRecord } from '../../record/record';
import { endOf } from '../../record/record-end';
import { Delivery, type Push } from './delivery';
import type { Sink } from './sink';
import type { Spool } from './spool';

const PAGE = 500;
/**
 * This long after its end a record is sent as it is: a node may be down, or Grid Engine's accounting not imported. The
 * end of a lost job may be unknown until the accounting is imported.
 */
const WHOLE_WITHIN_MS = 3_600_000;

/** Whether the job has ended, and both accounts of it (sampler's, Grid Engine's) have come or are overdue. */
function isReady(record: JobRecord): boolean {
  if (record.status === 'running') return false;
  if (!isLineOnly(record) && record.grid_engine !== null) return true;
  return Date.now() - endOf(record) > WHOLE_WITHIN_MS;
}

const jobOf = ({ record: { cluster, job_id, task_id } }: NumberedRecord): string =>
  JSON.stringify([cluster, job_id, task_id]);

/**
 * Sends every record of an accounting DB once its job has ended. The position is stored after the sink has accepted a
 * page; records sent after the stored position are sent again, under the same ids.
 */
export class RecordPush implements Push {
  private readonly delivery: Delivery<JobRecord>;

  constructor(
    sink: Sink<JobRecord>,
    private readonly spool: Spool,
    private readonly openFeed: () => Promise<RecordFeed>,
    private readonly log: (line: string) => void,
  ) {
    this.delivery = new Delivery(sink, spool, log);
  }

  /** Nothing to do: the accounting DB keeps the records. */
  take(): Promise<void> {
    return Promise.resolve();
  }

  /** Rejects with StoreError if the accounting DB can't be read. */
  async send(signal: AbortSignal): Promise<string | null> {
    if (!this.delivery.isDue) return 'the next try is not due';
    const feed = await this.openFeed();
    try {
      await this.compareStores(feed);
      return (await this.sendOpen(feed, signal)) ?? (await this.sendNew(feed, signal));
    } finally {
      await feed.close();
    }
  }

  /** Starts over if the stored position is of another store, or of a later state of a restored one. */
  private async compareStores(feed: RecordFeed): Promise<void> {
    const { store: known, position, last } = this.spool.state;
    const store = await feed.identity();
    if (store === known && (await feed.newest()) >= position) {
      // A restored store gives the numbers after its state to other records. Pruned ones tell nothing.
      const [at] = await feed.after(position - 1, 1);
      if (at?.id !== position || jobOf(at) === last) return;
    }
    if (known !== '')
      this.log('the accounting DB is another one, or an earlier state of it: all of its records are sent');
    this.spool.update({ store, position: 0, last: '', open: [] });
  }

  /** Sends records that had not ended, or were not complete, when they were read before. */
  private async sendOpen(feed: RecordFeed, signal: AbortSignal): Promise<string | null> {
    const all = this.spool.state.open;
    for (let at = 0; at < all.length && !signal.aborted; at += PAGE) {
      const { records, gone } = await feed.ended(all.slice(at, at + PAGE));
      const ready = records.filter(({ record }) => isReady(record));
      const problem = await this.deliver(ready);
      if (problem !== null) return problem;
      const done = new Set([...gone, ...ready.map(({ id }) => id)]);
      if (done.size > 0) this.spool.update({ open: this.spool.state.open.filter((id) => !done.has(id)) });
    }
    return null;
  }

  private async sendNew(feed: RecordFeed, signal: AbortSignal): Promise<string | null> {
    while (!signal.aborted) {
      const { position, open } = this.spool.state;
      const page = await feed.after(position, PAGE);
      const last = page.at(-1);
      if (last === undefined) return null;
      const ready = new Set(page.filter(({ record }) => isReady(record)));
      const problem = await this.deliver([...ready]);
      if (problem !== null) return problem;
      const others = page.filter((one) => !ready.has(one)).map(({ id }) => id);
      this.spool.update({ position: last.id, last: jobOf(last), open: [...open, ...others] });
    }
    return 'ended early';
  }

  private deliver(records: readonly NumberedRecord[]): Promise<string | null> {
    return records.length === 0 ? Promise.resolve(null) : this.delivery.send(records.map(({ record }) => record));
  }
}

import type { LongWork, Settled } from '../history-store';
import type { Connection, Transaction } from './connect';
import { isStoreFault } from './faults';
import { readInbox } from './inbox';
import type { Merger } from './merger';
import { NUMBERS } from './record-filter';

/** Accounts of one transaction. */
const BATCH = 500;
/** A running job's account is settled after a day of silence: its node has died, or its last account came before. */
const SILENT = "interval '1 day'";
const DUE = `(i.ended OR i.received_at < now() - ${SILENT}) AND i.error IS NULL`;

/** At least one of these accounts (by their ids in the inbox) can't be put into the table. */
class Unsettled extends Error {
  constructor(
    readonly ids: readonly number[],
    cause: unknown,
  ) {
    super(cause instanceof Error ? cause.message : 'unknown reason', { cause });
  }
}

/** Settles at most `most` accounts in one transaction; null: none was left. Rejects with Unsettled, or StoreError. */
async function settleSome(merger: Merger, most: number): Promise<Settled | null> {
  return merger.alone(async (inner) => {
    const due = await readInbox(inner, `${DUE} ORDER BY i.id LIMIT ${most} FOR UPDATE SKIP LOCKED`, []);
    const ids = [...due.waiting, ...due.unreadable].map(({ id }) => id);
    if (ids.length === 0) return null;
    try {
      return await settleThese(merger, inner, due);
    } catch (error) {
      throw isStoreFault(error) ? error : new Unsettled(ids, error);
    }
  });
}

async function settleThese(
  merger: Merger,
  inner: Transaction,
  due: Awaited<ReturnType<typeof readInbox>>,
): Promise<Settled> {
  for (const { id, error } of due.unreadable) await markUnreadable(inner, id, error);
  // Earlier accounts of the same runs, made while they were running, go with them.
  const jobs = JSON.stringify(due.waiting.map(({ record }) => record.job_id));
  const runs = new Set(due.waiting.map(({ record }) => record.run_id));
  const others = await readInbox(
    inner,
    `i.job_id IN ${NUMBERS} AND NOT i.ended AND i.error IS NULL FOR UPDATE SKIP LOCKED`,
    [jobs],
  );
  const taken = new Map(
    [...others.waiting.filter(({ record }) => runs.has(record.run_id)), ...due.waiting].map((one) => [one.id, one]),
  );
  await merger.merge(
    inner,
    [...taken.values()].map(({ record }) => record),
  );
  await inner.query(`DELETE FROM qmemacct.inbox WHERE id IN ${NUMBERS}`, [JSON.stringify([...taken.keys()])]);
  return { settled: taken.size, unreadable: due.unreadable.length };
}

/** An account that can't be put into the table stays with its error. */
async function markUnreadable(inner: Pick<Transaction, 'query'>, id: number, error: string): Promise<void> {
  await inner.query('UPDATE qmemacct.inbox SET error = $2 WHERE id = $1', [id, error.slice(0, 500)]);
}

/** Moves the accounts of ended jobs from the inbox into the table, some per transaction. Rejects with StoreError. */
export async function settle(merger: Merger, { signal, onProgress }: LongWork = {}): Promise<Settled> {
  const sum = { settled: 0, unreadable: 0 };
  let most = BATCH;
  while (!signal?.aborted) {
    try {
      const some = await settleSome(merger, most);
      if (some === null) break;
      sum.settled += some.settled;
      sum.unreadable += some.unreadable;
      most = Math.min(2 * most, BATCH);
    } catch (error) {
      if (!(error instanceof Unsettled)) throw error;
      const { ids, message } = error;
      const [only] = ids;
      // One bad account has stopped all: try half as many, down to that account alone.
      most = Math.max(1, Math.floor(ids.length / 2));
      if (only === undefined || ids.length > 1) continue;
      await merger.alone((inner) => markUnreadable(inner, only, message));
      sum.unreadable++;
    }
    onProgress?.(sum.settled, sum.settled);
  }
  return sum;
}

/** What waits in the inbox for the merger. */
export interface InboxState {
  /** Accounts of ended jobs. */
  readonly rows: number;
  /** Seconds since the oldest of these came. */
  readonly oldest: number;
  readonly unreadable: number;
}

export async function inboxState(db: Pick<Connection, 'query'>): Promise<InboxState> {
  const [row] = await db.query<InboxState>(
    `SELECT count(*) FILTER (WHERE error IS NULL) AS rows,
       coalesce(extract(epoch FROM now() - min(received_at) FILTER (WHERE error IS NULL)), 0)::double precision AS oldest,
       count(*) FILTER (WHERE error IS NOT NULL) AS unreadable
     FROM qmemacct.inbox WHERE ended`,
  );
  return row ?? { rows: 0, oldest: 0, unreadable: 0 };
}

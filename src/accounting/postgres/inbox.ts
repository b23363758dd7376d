import { parseRecord, recordOfJson, type JobRecord } from '../../record/record';
import type { MergeOutcome } from '../store';
import { isStoreFault, type Connection, type Transaction, type Value } from './connect';

/** What one call of `deliver` takes at most. */
const BATCH = 500;

/** A row of the inbox that can be read. */
export interface Waiting {
  readonly id: number;
  readonly record: JobRecord;
}

/** A row that can't: why. */
export interface Unreadable {
  readonly id: number;
  readonly error: string;
}

/** Rows of the inbox, oldest first; `condition` is on `i`. */
export async function readInbox(
  db: Pick<Transaction, 'rows'>,
  condition: string,
  values: readonly Value[],
  source = 'qmemacct.inbox',
): Promise<{ readonly waiting: readonly Waiting[]; readonly unreadable: readonly Unreadable[] }> {
  const rows = await db.rows<readonly [number, string]>(
    `SELECT i.id, i.account FROM ${source} AS i WHERE ${condition}`,
    values,
  );
  const waiting: Waiting[] = [];
  const unreadable: Unreadable[] = [];
  for (const [id, account] of rows.toSorted((a, b) => a[0] - b[0])) {
    const record = recordOfJson(account);
    if (record.ok) waiting.push({ id, record: record.value });
    else unreadable.push({ id, error: record.error });
  }
  return { waiting, unreadable };
}

async function put(db: Pick<Connection, 'query'>, records: readonly JobRecord[]): Promise<string | null> {
  try {
    await db.query('SELECT qmemacct.deliver($1::text::jsonb)', [JSON.stringify(records)]);
    return null;
  } catch (error) {
    if (isStoreFault(error)) throw error;
    return error instanceof Error ? error.message : 'unknown reason';
  }
}

async function deliverBatch(
  db: Pick<Connection, 'query'>,
  records: readonly JobRecord[],
): Promise<readonly MergeOutcome[]> {
  const good = records.map((record) => parseRecord(record));
  const error = await put(
    db,
    good.flatMap((record) => (record.ok ? record.value : [])),
  );
  const outcomes: MergeOutcome[] = [];
  for (const record of good) {
    // What is wrong with one of them has stopped all: each on its own.
    const problem = !record.ok ? record.error : error === null ? null : await put(db, [record.value]);
    outcomes.push(problem === null ? { ok: true, change: 'added' } : { ok: false, error: problem });
  }
  return outcomes;
}

/** Puts records into the inbox, batch by batch: what has been committed stays so where a later one fails. */
export async function deliver(
  db: Pick<Connection, 'query'>,
  records: readonly JobRecord[],
): Promise<readonly MergeOutcome[]> {
  const outcomes: MergeOutcome[] = [];
  for (let at = 0; at < records.length; at += BATCH)
    outcomes.push(...(await deliverBatch(db, records.slice(at, at + BATCH))));
  return outcomes;
}

/** Nothing, to see whether one could. */
export async function tryDelivery(db: Pick<Connection, 'query'>): Promise<void> {
  await db.query("SELECT qmemacct.deliver('[]')");
}

import { parseRecord, recordOfJson, type JobRecord } from '../../record/record';
import type { MergeOutcome } from '../store';
import type { Connection, Transaction } from './connect';
import { isStoreFault } from './faults';
import type { Value } from './session';
import { NUMBERS, numbersAt } from './record-filter';

/** Most records in one call of the SQL function `deliver`. */
const BATCH = 500;

/** A row of the inbox that can be read. */
export interface Waiting {
  readonly id: number;
  readonly record: JobRecord;
}

/** A row of the inbox that can't be read, and why. */
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

type Row = readonly [id: number, revision: number, job: number, task: number];

const jobOf = ([, , job, task]: Row): string => `${job}/${task}`;

/** What the caller's role sees of the inbox. */
const VISIBLE = 'qmemacct.visible_inbox';

/** Rows that are not marked unreadable; `condition` is on `i`. */
const rowsOf = (db: Pick<Transaction, 'rows'>, condition: string, values: readonly Value[]): Promise<readonly Row[]> =>
  db.rows<Row>(
    `SELECT i.id, i.revision, i.job_id, coalesce(i.task_id, 0) FROM ${VISIBLE} AS i
     WHERE i.error IS NULL AND ${condition}`,
    values,
  );

/** Most accounts kept in memory: more than jobs run at once, at a few KiB each. */
const MOST_KEPT = 30_000;

/**
 * Reads waiting accounts for queries. Each query needs the last account of every running job, so only accounts that
 * have changed are sent and parsed again.
 */
export class WaitingAccounts {
  /** By the row's id; `record` null: it can't be read. */
  private readonly kept = new Map<number, { readonly revision: number; readonly record: JobRecord | null }>();

  /** All readable accounts of the jobs with an account that satisfies `condition` (on `i`), oldest first. */
  async read(
    db: Pick<Transaction, 'rows'>,
    condition: string,
    values: readonly Value[],
  ): Promise<readonly JobRecord[]> {
    const wanted = await rowsOf(db, condition, values);
    if (wanted.length === 0) return [];
    // Not one query: the planner would expect few jobs, and compare each with each.
    const others = await rowsOf(db, `i.job_id IN ${NUMBERS} AND i.id NOT IN ${numbersAt(2)}`, [
      JSON.stringify([...new Set(wanted.map(([, , job]) => job))]),
      JSON.stringify(wanted.map(([id]) => id)),
    ]);
    const jobs = new Set(others.length === 0 ? [] : wanted.map(jobOf));
    const found = [...wanted, ...others.filter((row) => jobs.has(jobOf(row)))].sort(([a], [b]) => a - b);
    // Collected here, since other queries with their own views change `kept` meanwhile.
    const known = new Map<number, JobRecord | null>();
    const changed = new Map<number, number>();
    for (const [id, revision] of found) {
      const kept = this.kept.get(id);
      if (kept?.revision === revision) known.set(id, kept.record);
      else changed.set(id, revision);
    }
    for (const [id, record] of await this.readAnew(db, changed)) known.set(id, record);
    for (const oldest of this.kept.keys()) {
      if (this.kept.size <= MOST_KEPT) break;
      this.kept.delete(oldest);
    }
    return found.flatMap(([id]) => known.get(id) ?? []);
  }

  private async readAnew(
    db: Pick<Transaction, 'rows'>,
    revisions: ReadonlyMap<number, number>,
  ): Promise<readonly (readonly [id: number, record: JobRecord | null])[]> {
    if (revisions.size === 0) return [];
    const ids = JSON.stringify([...revisions.keys()]);
    const { waiting, unreadable } = await readInbox(db, `i.id IN ${NUMBERS}`, [ids], VISIBLE);
    const read = [
      ...waiting.map(({ id, record }) => [id, record] as const),
      ...unreadable.map(({ id }) => [id, null] as const),
    ];
    for (const [id, record] of read) {
      this.kept.delete(id);
      this.kept.set(id, { revision: revisions.get(id) ?? 0, record });
    }
    return read;
  }
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
    // One bad record has stopped the whole batch, so each is put on its own.
    const problem = !record.ok ? record.error : error === null ? null : await put(db, [record.value]);
    outcomes.push(problem === null ? { ok: true, change: 'added' } : { ok: false, error: problem });
  }
  return outcomes;
}

/** Puts records into the inbox, batch by batch: committed batches stay if a later one fails. */
export async function deliver(
  db: Pick<Connection, 'query'>,
  records: readonly JobRecord[],
): Promise<readonly MergeOutcome[]> {
  const outcomes: MergeOutcome[] = [];
  for (let at = 0; at < records.length; at += BATCH)
    outcomes.push(...(await deliverBatch(db, records.slice(at, at + BATCH))));
  return outcomes;
}

/** Delivers nothing, to see whether it could. */
export async function tryDelivery(db: Pick<Connection, 'query'>): Promise<void> {
  await db.query("SELECT qmemacct.deliver('[]')");
}

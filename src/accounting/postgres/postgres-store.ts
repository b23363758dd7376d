import type { JobRecord } from '../../record/record';
import { byPlace } from '../by-place';
import { arrangeAttempts } from '../attempts';
import type { StoredRecord } from '../../record/merge';
import type { AccountingReader, AccountingStore, MergeOutcome } from '../store';
import { connect, isStoreFault } from './connect';
import type { Connection, ConnectOptions } from './connect';
import { filterJson } from './fact-rows';
import { noTotals } from '../../record/totals';
import { summarise } from './summarise';

const DEFAULT_LIMIT = 50;
const READING = 'isolation level repeatable read read only';
/** What one call of `deliver` takes at most, so that no transaction is long. */
const BATCH = 500;

interface Outcome {
  readonly change?: 'added' | 'changed' | 'unchanged';
  readonly error?: string;
}

function outcomeOf({ change, error }: Outcome): MergeOutcome {
  return change === undefined ? { ok: false, error: error ?? 'unknown reason' } : { ok: true, change };
}

async function deliver(db: Connection, records: readonly JobRecord[]): Promise<readonly MergeOutcome[]> {
  const statement = 'SELECT qmemacct.deliver($1::text::jsonb) AS outcomes';
  try {
    const [row] = await db.query<{ outcomes: readonly Outcome[] }>(statement, [JSON.stringify(records)]);
    return row?.outcomes.map(outcomeOf) ?? [];
  } catch (error) {
    if (isStoreFault(error)) throw error;
    // What is wrong with one of them has stopped all: each on its own.
    const [only] = records;
    if (records.length === 1 && only !== undefined)
      return [{ ok: false, error: error instanceof Error ? error.message : 'unknown reason' }];
    const outcomes: MergeOutcome[] = [];
    for (const record of records) outcomes.push(...(await deliver(db, [record])));
    return outcomes;
  }
}

/** Merges batch by batch: each is a transaction, and what has been committed stays so where a later one fails. */
async function merge(db: Connection, records: readonly JobRecord[]): Promise<readonly MergeOutcome[]> {
  const outcomes: MergeOutcome[] = [];
  for (let at = 0; at < records.length; at += BATCH)
    outcomes.push(...(await deliver(db, records.slice(at, at + BATCH))));
  return outcomes;
}

function reader(db: Connection): AccountingReader {
  const found = async (statement: string, values: readonly (string | number | null)[]): Promise<StoredRecord[]> =>
    (await db.query<{ found: StoredRecord }>(statement, values)).map((row) => row.found);
  return {
    job: async (query) => {
      const values = [query.job_id, query.task_id ?? null, query.cluster ?? null];
      return arrangeAttempts(await found('SELECT qmemacct.read_job($1, $2, $3) AS found', values), query);
    },
    jobs: (numbers) =>
      found(
        `SELECT jsonb_set(found, '{record,series}', 'null') AS found
         FROM jsonb_array_elements_text($1::text::jsonb) AS job, qmemacct.read_job(job::bigint, NULL, NULL) AS found`,
        [JSON.stringify(numbers)],
      ),
    records: (query) =>
      // One snapshot: the list and its totals are of the same moment.
      db.transaction(async (inner) => {
        const { sort = 'time', limit = DEFAULT_LIMIT } = query;
        const rows = await inner.query<{ found: StoredRecord }>(
          'SELECT qmemacct.read_records($1::text::jsonb, $2, $3) AS found',
          [filterJson(query), sort, limit],
        );
        const records = rows.map((row) => row.found);
        if (query.totals === false) return { records, totals: noTotals() };
        const { totals } = await summarise(inner, { ...query, by: 'cluster', sort: 'records', limit: 0 });
        return { records, totals };
      }, READING),
    summary: (query) => db.transaction((inner) => summarise(inner, query), READING),
    running: async ({ cluster, since }) =>
      (await found('SELECT qmemacct.read_running($1, $2) AS found', [since, cluster ?? null])).sort(byPlace),
    close: () => db.close(),
  };
}

interface PostgresReader extends AccountingReader {
  /** Asks nothing, to see whether it could. Rejects with StoreError. */
  tryReading(): Promise<void>;
}

/** The PostgreSQL store at a URL, to be read. Connects with the first question. Throws StoreError. */
export function openPostgresReader(url: string, options: ConnectOptions = {}): PostgresReader {
  const db = connect(url, options);
  return { ...reader(db), tryReading: () => db.query('SELECT qmemacct.sees_all()').then(() => undefined) };
}

/** The PostgreSQL store at a URL, to be delivered to: its role may do nothing else. Throws StoreError. */
export function openPostgresStore(url: string, options: ConnectOptions = {}): PostgresStore {
  const db = connect(url, options);
  return { ...storeOn(db), tryDelivery: () => deliver(db, []).then(() => undefined) };
}

interface PostgresStore extends AccountingStore {
  /** Delivers nothing, to see whether it could. Rejects with StoreError. */
  tryDelivery(): Promise<void>;
}

/** The store behind a connection. */
export function storeOn(db: Connection): AccountingStore {
  return { ...reader(db), merge: (records) => merge(db, records) };
}

import type { JobRecord } from '../../record/record';
import { countedAt } from '../../record/facts';
import { jobOf, JobRecords, type HeldRecord } from '../job-records';
import type { Cell } from '../cell-codec';
import { COLUMNS, seriesCells, toRow, type Row } from '../row';
import type { MergeOutcome } from '../store';
import { hourOf, HOURS_OF_DAY } from '../sums/periods';
import type { Connection, Transaction } from './connect';
import { insertRows, updateRecords, type TypedColumn } from './insert-rows';
import { columnType, namedColumns, readRows } from './rows';
import { Words } from './words';
import { NUMBERS } from './record-filter';

/**
 * One writer at a time, so a merger sees all that others have merged. Import and roll-ups take this lock, too. Not an
 * advisory lock: any role could take that, and stop all writers.
 */
const LOCK = 'LOCK TABLE qmemacct.schema_version IN SHARE ROW EXCLUSIVE MODE';
/** A writer whose host has died would keep the lock for the two hours after which TCP finds that out. */
const MOST_IDLE = "SET LOCAL idle_in_transaction_session_timeout = '2min'";

/** Records of the jobs in $1, a JSON list of [number, task] (`jobList`); task 0: no array job. */
const OF_JOBS = `FROM (SELECT DISTINCT (j.job ->> 0)::bigint AS job_id, (j.job ->> 1)::bigint AS task_id
    FROM jsonb_array_elements($1::text::jsonb) AS j (job)) AS j
  JOIN qmemacct.named_record AS r ON r.job_id = j.job_id AND coalesce(r.task_id, 0) = j.task_id`;

/** The jobs of records, as OF_JOBS takes them. */
export function jobList(records: Iterable<Pick<JobRecord, 'job_id' | 'task_id'>>): string {
  const jobs = new Set<string>();
  for (const { job_id, task_id } of records) jobs.add(`[${job_id},${task_id ?? 0}]`);
  return `[${[...jobs].join(',')}]`;
}

/** All records of the jobs in `list` that `source` shows. */
export async function loadJobs(
  db: Pick<Transaction, 'rows'>,
  list: string,
  source = 'qmemacct.named_record',
): Promise<JobRecords> {
  const held = new JobRecords();
  if (list === '[]') return held;
  const sql = `SELECT r.id, ${namedColumns(true)} ${OF_JOBS.replace('qmemacct.named_record', source)} ORDER BY r.id`;
  const rows = await db.rows<readonly [number, ...Cell[]]>(sql, [list]);
  for (const [index, stored] of readRows(rows, 1).entries()) held.load(rows[index]?.[0] ?? 0, stored);
  return held;
}

/** The columns of a row that `toRow` makes. */
export const NEW_ROW: readonly TypedColumn[] = COLUMNS.map((column) => ({
  name: column.name,
  type: columnType(column),
  dictionary: column.dictionary,
}));
const ID: TypedColumn = { name: 'id', type: 'bigint' };
const ROW = [ID, ...NEW_ROW];
const SERIES: readonly TypedColumn[] = [
  { name: 'record_id', type: 'bigint' },
  { name: 'start', type: 'bigint' },
  { name: 'step_ms', type: 'bigint' },
  { name: 'points', type: 'text' },
];

/** Marks hours (UTC, since 1970) whose sums are out of date. The number of a change is its transaction's id. */
export async function markStale(db: Transaction, hours: ReadonlySet<number>): Promise<void> {
  await db.query(
    `INSERT INTO qmemacct.stale_hour SELECT h::integer, txid_current() FROM jsonb_array_elements_text($1::text::jsonb) AS h
     WHERE NOT EXISTS (SELECT FROM qmemacct.pruned_day AS p WHERE p.day = h::integer / ${HOURS_OF_DAY})
     ON CONFLICT (hour) DO UPDATE SET change = excluded.change`,
    [JSON.stringify([...hours])],
  );
}

/** Writes merged records into the table. All writers of records use it, one at a time. */
export class Merger {
  readonly words = new Words();

  constructor(private readonly db: Connection) {}

  /** Does work in one transaction, while no other writer works. */
  async alone<T>(work: (inner: Transaction) => Promise<T>): Promise<T> {
    const done = await this.db.transaction(async (inner) => {
      await inner.query(`${MOST_IDLE}; ${LOCK}`);
      await this.words.begin(inner);
      return work(inner);
    });
    this.words.committed();
    return done;
  }

  /** Merges records, as `parseRecord` returns them, into the table. */
  async merge(inner: Transaction, records: readonly JobRecord[]): Promise<readonly MergeOutcome[]> {
    const held = await loadJobs(inner, jobList(records));
    const outcomes = held.merge(records);
    await this.write(inner, held);
    return outcomes;
  }

  /** Writes what has changed among the records of jobs that were loaded whole. */
  async write(inner: Transaction, held: JobRecords): Promise<void> {
    const { added, changed, absorbed } = held.changes();
    const touched = new Set<HeldRecord>([...added, ...changed, ...absorbed]);
    if (touched.size === 0) return;
    const gone = [...changed, ...absorbed].flatMap(({ id }) => id ?? []);
    if (gone.length > 0) await this.remove(inner, gone);
    await this.insert(inner, [...changed, ...added]);
    await this.markJobs(inner, held, touched);
  }

  /** Inserts rows, and columns that are the `same` in all. The caller marks the hours in which they count. */
  async insertNew(
    inner: Transaction,
    columns: readonly TypedColumn[],
    rows: readonly Row[],
    same: Readonly<Record<string, number>> = {},
  ): Promise<void> {
    const { words } = this;
    await words.ensure(inner);
    await insertRows(inner, 'record', columns, rows, { words, same });
  }

  /** Updates columns that are in no sums; each row begins with the record's id; `same`: what is set in all. */
  async update(inner: Transaction, columns: readonly TypedColumn[], rows: readonly Row[], same: string): Promise<void> {
    const { words } = this;
    await words.ensure(inner);
    await updateRecords(inner, [ID, ...columns], rows, { words, same });
  }

  private async remove(inner: Transaction, ids: readonly number[]): Promise<void> {
    const list = JSON.stringify(ids);
    await inner.query(`DELETE FROM qmemacct.series WHERE record_id IN ${NUMBERS}`, [list]);
    await inner.query(`DELETE FROM qmemacct.record WHERE id IN ${NUMBERS}`, [list]);
  }

  private async insert(inner: Transaction, records: readonly HeldRecord[]): Promise<void> {
    if (records.length === 0) return;
    const ids = await this.idsOf(inner, records);
    await this.insertNew(
      inner,
      ROW,
      records.map(({ stored }, index) => [ids[index] ?? 0, ...toRow(stored, this.words)]),
    );
    await insertRows(
      inner,
      'series',
      SERIES,
      records.flatMap(({ stored: { record } }, index) => {
        return record.series === null ? [] : [[ids[index] ?? 0, ...seriesCells(record.series)]];
      }),
    );
  }

  private async idsOf(inner: Transaction, records: readonly HeldRecord[]): Promise<readonly number[]> {
    const fresh = records.filter(({ id }) => id === null).length;
    const numbers =
      fresh === 0
        ? []
        : await inner.rows<[number]>(`SELECT nextval('qmemacct.record_id_seq') FROM generate_series(1, ${fresh})`);
    let next = 0;
    return records.map(({ id }) => id ?? numbers[next++]?.[0] ?? 0);
  }

  /** Marks the hours of all records of the touched jobs: what a record adds to sums may depend on its job's others. */
  private async markJobs(inner: Transaction, held: JobRecords, touched: ReadonlySet<HeldRecord>): Promise<void> {
    const jobs = new Set([...touched].map(({ stored }) => jobOf(stored.record)));
    const hours = new Set<number>();
    for (const one of [...held.all(), ...touched])
      if (jobs.has(jobOf(one.stored.record)))
        for (const version of [one.before, one.stored])
          if (version !== null) hours.add(hourOf(countedAt(version.record)));
    await markStale(inner, hours);
  }
}

import { byPlace } from '../by-place';
import { arrangeAttempts } from '../attempts';
import type { Cell } from '../cell-codec';
import type { FieldName } from '../../record/fields';
import { ALL_FIELDS, rowPlan, type RowPlan } from '../row';
import { recordTest } from '../filter-record';
import type { StoredRecord } from '../../record/merge';
import { countedAt } from '../../record/facts';
import type { NodeHeartbeat } from '../../record/node-status';
import type { PlainColumn } from '../../record/plain-columns';
import { noTotals } from '../../record/totals';
import type {
  AccountingReader,
  JobAnswer,
  JobQuery,
  NodesQuery,
  PagesQuery,
  RecordFilter,
  RecordPage,
  RecordsAnswer,
  RecordTables,
  RecordsQuery,
  RunningQuery,
  SelectedRecords,
  TablePage,
  TaskTable,
  TaskTableQuery,
} from '../store';
import { DEFAULT_LIMIT, figuresOf, SORTS } from '../sorts';
import { TablePlan } from '../table-plan';
import type { SummaryAnswer, SummaryQuery } from '../summary';
import type { Connection } from './connect';
import { conditionOf, Parameters, type Source, numbersAt } from './record-filter';
import { WaitingAccounts } from './inbox';
import { storeError } from './faults';
import { largestRecords } from './largest';
import { readStatuses } from './node-status';
import { taskTable } from './tasks';
import { namedColumns, readRows, readTable } from './rows';
import { SharedSnapshot } from './shared-snapshot';
import { notOf, type Snapshot } from './snapshot';
import { KeptHours } from '../sums/kept-hours';
import { summarise } from './sums/summarise';

/** Records in a page. */
const PAGE = 500;

/** The view that the caller's role may read: the widest that it may. */
const SOURCE = `SELECT CASE WHEN has_table_privilege('qmemacct.record', 'SELECT') THEN 'named_record'
    WHEN pg_has_role(session_user, 'qmemacct_project', 'MEMBER') THEN 'visible_record' ELSE 'own_record' END AS records`;

/** A record of a list, and the values that it is sorted by, in that order. */
interface Listed {
  readonly order: readonly [value: number, countedAt: number, id: number];
  readonly stored: StoredRecord;
}

function byOrder(a: Listed, b: Listed): number {
  for (const [index, value] of b.order.entries()) {
    const other = a.order[index] ?? 0;
    if (value !== other) return value > other ? 1 : -1;
  }
  return 0;
}

async function listRecords(snapshot: Snapshot, query: RecordsQuery): Promise<readonly StoredRecord[]> {
  const { sort = 'time', limit = DEFAULT_LIMIT } = query;
  const unsettled = await snapshot.unsettled(query);
  const parameters = new Parameters();
  const condition = conditionOf(query, snapshot.source, parameters);
  const plan = rowPlan(query.fields);
  const largest = sort === 'time' ? null : await largestRecords(snapshot, unsettled, { ...query, sort, limit });
  const amounts = new Map(largest?.map(({ id, amount }) => [id, amount]));
  let chosen = `${condition}${notOf(unsettled.ids)} ORDER BY r.counted_at DESC, r.id DESC LIMIT ${limit}`;
  if (largest !== null) {
    parameters.put(JSON.stringify([...amounts.keys()]));
    chosen = `${condition} AND r.id IN ${numbersAt(parameters.values.length)}`;
  }
  const rows = await snapshot.db.rows<readonly [number, number, ...Cell[]]>(
    `SELECT r.id, r.counted_at, ${namedColumns(false, plan)} FROM ${snapshot.source.records} AS r WHERE ${chosen}`,
    parameters.values,
  );
  const test = recordTest(query);
  const waiting = unsettled.records.flatMap(({ stored, name, countedAt: at }): Listed[] => {
    const { record } = stored;
    if (!test(record, name)) return [];
    const amount = sort === 'time' ? 0 : (SORTS[sort].amount(figuresOf(record)) ?? -Infinity);
    return [{ order: [amount, at, Infinity], stored: { ...stored, record: { ...record, series: null } } }];
  });
  const found = readRows(rows, 2, plan).map((stored, index): Listed => {
    const [id = 0, at = 0] = rows[index] ?? [];
    return { order: [amounts.get(id) ?? 0, at, id], stored };
  });
  return [...found, ...waiting]
    .sort(byOrder)
    .slice(0, limit)
    .map(({ stored }) => stored);
}

/** A condition on `row` that it is of the job or array task. */
function ofJob(row: 'i' | 'r', { job_id, task_id }: JobQuery, parameters: Parameters): string {
  const job = `${row}.job_id = ${parameters.put(job_id)}::bigint`;
  return task_id === undefined ? job : `${job} AND coalesce(${row}.task_id, 0) = ${parameters.put(task_id)}::bigint`;
}

/** The records of the table that satisfy a condition on `r`, which has these parameters. */
async function recordsWhere(
  { db, source }: Snapshot,
  condition: string,
  { values }: Parameters,
  plan: RowPlan,
  withSeries: boolean,
): Promise<readonly StoredRecord[]> {
  const sql = `SELECT ${namedColumns(withSeries, plan)} FROM ${source.records} AS r WHERE ${condition}`;
  return readRows(await db.rows<readonly Cell[]>(sql, values), 0, plan);
}

/** Whether a job has more records than are wanted whole. */
async function hasMany({ db, source }: Snapshot, query: JobQuery): Promise<boolean> {
  const { task_id, most_whole: most } = query;
  if (most === undefined || task_id !== undefined) return false;
  const parameters = new Parameters();
  const sql = `SELECT count(*)::integer FROM ${source.records} AS r WHERE ${ofJob('r', query, parameters)}`;
  const [row] = await db.rows<readonly [number]>(sql, parameters.values);
  return (row?.[0] ?? 0) > most;
}

async function selectPages(snapshot: Snapshot, query: RecordFilter): Promise<SelectedRecords> {
  const { records, ids } = await snapshot.unsettled(query);
  const parameters = new Parameters();
  const condition = conditionOf(query, snapshot.source, parameters);
  // All ids as one text: a row for each would take ten times the memory.
  const [row] = await snapshot.db.rows<readonly [string | null]>(
    `SELECT string_agg(n.id::text, ',') FROM (SELECT r.id FROM ${snapshot.source.records} AS r
     WHERE ${condition}${notOf(ids)} ORDER BY r.counted_at DESC, r.id DESC) AS n`,
    parameters.values,
  );
  const test = recordTest(query);
  return {
    ids: row?.[0]?.split(',').map(Number) ?? [],
    waiting: records
      .filter(({ stored, name }) => test(stored.record, name))
      .sort((a, b) => b.countedAt - a.countedAt)
      .map(({ stored }) => stored),
  };
}

/** Queries to the PostgreSQL store, each answered from one snapshot of the table and of what waits in the inbox. */
export class PostgresReader implements AccountingReader {
  private source: Promise<Source> | null = null;
  private readonly kept = new KeptHours();
  private readonly shared: SharedSnapshot;

  /** `sharedMs`: for how long queries are answered from one snapshot. */
  constructor(
    protected readonly db: Connection,
    sharedMs = 0,
  ) {
    this.shared = new SharedSnapshot(db, new WaitingAccounts(), sharedMs);
  }

  /** Asks nothing, to see whether it could. Rejects with StoreError. */
  async tryReading(): Promise<void> {
    await this.db.query('SELECT FROM qmemacct.visible_record LIMIT 0');
  }

  job(query: JobQuery): Promise<JobAnswer> {
    return this.ask(async (snapshot) => {
      const ofWaiting = new Parameters();
      const waiting = await snapshot.jobsOf(ofJob('i', query, ofWaiting), ofWaiting);
      const many = await hasMany(snapshot, query);
      const parameters = new Parameters();
      const condition = ofJob('r', query, parameters) + notOf(waiting.ids());
      const plan = rowPlan(many ? query.fields : undefined, false);
      const rows = await recordsWhere(snapshot, condition, parameters, plan, !many);
      const found = [...rows, ...[...waiting.all()].map(({ stored }) => stored)].filter(
        ({ record }) =>
          (query.cluster === undefined || record.cluster === query.cluster) &&
          (query.task_id === undefined || record.task_id === query.task_id),
      );
      return { ...arrangeAttempts(found, query), ...(many ? { few_fields: true } : {}) };
    });
  }

  async taskTable(query: TaskTableQuery): Promise<TaskTable | null> {
    const table = await this.ask((snapshot) => taskTable(snapshot, query));
    return table && { ...table, fault: (error) => storeError(this.db.text, error) };
  }

  jobs(numbers: readonly number[], fields?: readonly FieldName[]): Promise<readonly StoredRecord[]> {
    const plan = rowPlan(fields);
    return this.ask(async (snapshot) => {
      const parameters = new Parameters();
      const list = parameters.putNumbers(numbers);
      const waiting = await snapshot.jobsOf(`i.job_id IN ${list}`, parameters);
      const condition = `r.job_id IN ${list}${notOf(waiting.ids())}`;
      const held = [...waiting.all()].map(({ stored }) => ({ ...stored, record: { ...stored.record, series: null } }));
      return [...(await recordsWhere(snapshot, condition, parameters, plan, false)), ...held];
    });
  }

  records(query: RecordsQuery): Promise<RecordsAnswer> {
    return this.ask(async (snapshot) => {
      const records = await listRecords(snapshot, query);
      if (query.totals === false) return { records, totals: noTotals() };
      const { totals } = await summarise(snapshot, { ...query, by: 'cluster', sort: 'records', limit: 0 }, this.kept);
      return { records, totals };
    });
  }

  async *pages(query: PagesQuery): AsyncGenerator<RecordPage> {
    const { ids, waiting } = await this.ask((snapshot) => selectPages(snapshot, query));
    const of = ids.length + waiting.length;
    const withSeries = query.fields?.includes('series') ?? false;
    const asAsked = ({ record, ...stored }: StoredRecord): StoredRecord => ({
      ...stored,
      record: withSeries ? record : { ...record, series: null },
    });
    const plan = rowPlan(query.fields);
    let next = 0;
    /** The next waiting records, in their order, that count at `at` or later. */
    const waitingSince = (at: number): readonly StoredRecord[] => {
      const first = next;
      for (let one = waiting[next]; one !== undefined && countedAt(one.record) >= at; one = waiting[next]) next++;
      return waiting.slice(first, next).map(asAsked);
    };
    for await (const rows of this.rowsOf(ids, `r.counted_at, ${namedColumns(withSeries, plan)}`)) {
      const records = readRows(rows, 1, plan).flatMap((stored, index) => [
        ...waitingSince(Number(rows[index]?.[0])),
        stored,
      ]);
      yield { records, of };
    }
    const oldest = waitingSince(-Infinity);
    if (oldest.length > 0) yield { records: oldest, of };
  }

  get tables(): RecordTables {
    return {
      location: this.db.text,
      credentials: this.db.credentials,
      page: PAGE,
      select: (query) => this.ask((snapshot) => selectPages(snapshot, query)),
      read: (ids, columns) => this.tablePages(ids, columns),
    };
  }

  private async *tablePages(ids: readonly number[], columns: readonly PlainColumn[]): AsyncGenerator<TablePage> {
    const plan = new TablePlan(columns);
    for await (const rows of this.rowsOf(ids, namedColumns(false, plan)))
      yield { columns: readTable(rows, plan), rows: rows.length };
  }

  /** Rows of the table, some at a time. */
  private async *rowsOf(ids: readonly number[], columns: string): AsyncGenerator<readonly (readonly Cell[])[]> {
    for (let at = 0; at < ids.length; at += PAGE) {
      const page = ids.slice(at, at + PAGE).join(', ');
      yield await this.ask(({ db, source }) =>
        db.rows<readonly Cell[]>(
          `SELECT ${columns} FROM ${source.records} AS r WHERE r.id IN (${page}) ORDER BY r.counted_at DESC, r.id DESC`,
        ),
      );
    }
  }

  summary(query: SummaryQuery): Promise<SummaryAnswer> {
    return this.ask((snapshot) => summarise(snapshot, query, this.kept));
  }

  running({ cluster, since }: RunningQuery): Promise<readonly StoredRecord[]> {
    return this.ask(async (snapshot) => {
      const parameters = new Parameters();
      const from = `${parameters.put(Math.ceil(since))}::bigint`;
      const waiting = await snapshot.jobsOf(`i.counted_at >= ${from}`, parameters);
      const condition = `r.status = 1 AND r.revision >= ${from}${notOf(waiting.ids())}`;
      const rows = await recordsWhere(snapshot, condition, parameters, ALL_FIELDS, true);
      return [...rows, ...[...waiting.all()].map(({ stored }) => stored)]
        .filter(
          ({ record }) =>
            record.status === 'running' &&
            countedAt(record) >= since &&
            (cluster === undefined || record.cluster === cluster),
        )
        .sort(byPlace);
    });
  }

  nodes({ since }: NodesQuery): Promise<readonly NodeHeartbeat[]> {
    return this.ask(({ db }) => readStatuses(db, since));
  }

  close(): Promise<void> {
    this.shared.close();
    return this.db.close();
  }

  private async ask<T>(question: (snapshot: Snapshot) => Promise<T>): Promise<T> {
    this.source ??= this.findSource();
    const source = await this.source.catch((error: unknown) => {
      this.source = null;
      throw error;
    });
    return this.shared.ask(source, question);
  }

  private async findSource(): Promise<Source> {
    const [row] = await this.db.query<{ readonly records: string }>(SOURCE);
    const records = row?.records ?? 'own_record';
    return { records: `qmemacct.${records}`, all: records === 'named_record' };
  }
}

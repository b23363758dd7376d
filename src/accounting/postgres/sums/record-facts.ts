import { JOB_SPAN_MS } from '../../../record/facts';
import type { Cell } from '../../cell-codec';
import { recordTest } from '../../filter-record';
import type { RecordFilter } from '../../store';
import { DIMENSIONS, type Dimension } from '../../summary';
import { counted, FACT_COLUMNS, factColumns, factsAt, jobKey } from '../../sums/fact-columns';
import type { Span } from '../../sums/periods';
import { recordKey, type GroupKey } from '../../sums/grouping-sets';
import type { EarlierRow, FactRow } from '../../sums/summer';
import { conditionOf, countedName, Parameters, sameJob } from '../record-filter';
import { notOf, type Snapshot, type Unsettled } from '../snapshot';

const PAGE = 20_000;

/** The first columns of both queries; the first query then has the id and the facts; the keys come last. */
const JOB_COLUMNS = 'r.counted_at, r.cluster, r.cluster_id, r.job_id, r.task_id';
type JobCells = readonly [countedAt: number, cluster: string, clusterId: number, job: number, task: number | null];
type Row = readonly [...JobCells, id: number, ...more: Cell[]];
const FACTS = 6;
type Earlier = readonly [...JobCells, ...keys: Cell[]];
const EARLIER_KEYS = 5;

/** Reads what sums need of the records that a filter selects, with their keys of `dimensions`. */
export class FactReader {
  private readonly keys: string;

  constructor(
    private readonly snapshot: Snapshot,
    private readonly unsettled: Unsettled,
    private readonly filter: RecordFilter,
    private readonly dimensions: readonly Dimension[],
  ) {
    const column = (name: Dimension): string => (name === 'job_name' ? countedName(snapshot.source) : `r.${name}`);
    this.keys = dimensions.map((name, index) => `, ${column(name)} AS key${index}`).join('');
  }

  /** The records of a span, page by page: the table's, oldest first, then the unsettled ones. */
  async *records(span: Span): AsyncGenerator<readonly FactRow[], void> {
    const { db, source } = this.snapshot;
    const parameters = new Parameters();
    const condition = this.condition(span, parameters);
    const at = parameters.values.length;
    const sql = `SELECT ${JOB_COLUMNS}, r.id, ${factColumns(sameJob(source))}${this.keys}
      FROM ${source.records} AS r WHERE ${condition} AND (r.counted_at, r.id) > ($${at + 1}::bigint, $${at + 2}::bigint)
      ORDER BY r.counted_at, r.id LIMIT ${PAGE}`;
    for (let after: readonly [number, number] | null = [-1, -1]; after !== null;) {
      const rows: readonly Row[] = await db.rows<Row>(sql, [...parameters.values, ...after]);
      yield rows.map((row) => ({
        id: row[5],
        countedAt: row[0],
        cluster: row[1],
        job: jobKey(row[2], row[3], row[4]),
        keys: this.keysAt(row, FACTS + FACT_COLUMNS),
        facts: factsAt(row, FACTS),
      }));
      const last = rows.at(-1);
      after = last === undefined || rows.length < PAGE ? null : [last[0], last[5]];
    }
    yield this.waiting(span);
  }

  /** Records from before a part of a day, but not from before `earliest`, of jobs with a record in the part. */
  async earlier(part: Span, earliest: number): Promise<readonly EarlierRow[]> {
    const before = { since: Math.max(earliest, part.since - JOB_SPAN_MS), until: part.since };
    if (before.since >= before.until) return [];
    const { db, source } = this.snapshot;
    const parameters = new Parameters();
    const named = ['cluster', 'cluster_id', 'job_id', 'task_id', ...this.dimensions.map((_, index) => `key${index}`)]
      .map((name) => `e.${name}`)
      .join(', ');
    // OFFSET 0 makes the planner read job by job: reading all records of those weeks would be far more.
    const rows = await db.rows<Earlier>(
      `WITH j AS MATERIALIZED (SELECT DISTINCT r.cluster_id, r.job_id, coalesce(r.task_id, 0) AS task
         FROM ${source.records} AS r WHERE ${this.condition(part, parameters)})
       SELECT max(counted_at), ${named} FROM j CROSS JOIN LATERAL (
         SELECT ${JOB_COLUMNS}${this.keys} FROM ${source.records} AS r
         WHERE r.job_id = j.job_id AND coalesce(r.task_id, 0) = j.task AND r.cluster_id = j.cluster_id
           AND ${this.condition(before, parameters)} OFFSET 0) AS e
       GROUP BY ${named}`,
      parameters.values,
    );
    return [
      ...rows.map((row) => ({
        countedAt: row[0],
        cluster: row[1],
        job: jobKey(row[2], row[3], row[4]),
        keys: this.keysAt(row, EARLIER_KEYS),
      })),
      ...this.waiting(before),
    ];
  }

  private condition(span: Span, parameters: Parameters): string {
    const { filter, snapshot, unsettled } = this;
    return `${conditionOf({ ...filter, ...span }, snapshot.source, parameters)} AND ${counted('r', filter.self_reported)}${notOf(unsettled.ids)}`;
  }

  private waiting(span: Span): readonly FactRow[] {
    const test = recordTest({ ...this.filter, ...span });
    return this.unsettled.records
      .filter(
        ({ stored: { record }, name, countedAt: at }) =>
          at >= span.since &&
          at < span.until &&
          test(record, name) &&
          (this.filter.self_reported === true || record.trust !== 'self-reported'),
      )
      .map(({ stored: { record }, countedAt, job, keys, facts }) => ({
        id: null,
        countedAt,
        cluster: record.cluster,
        job,
        keys: this.dimensions.map((name) => keys[DIMENSIONS.indexOf(name)] ?? null),
        facts,
      }));
  }

  private keysAt(row: readonly Cell[], at: number): readonly GroupKey[] {
    return this.dimensions.map((dimension, index) => {
      const word = row[at + index] ?? null;
      return recordKey(dimension, word === null ? null : String(word));
    });
  }
}

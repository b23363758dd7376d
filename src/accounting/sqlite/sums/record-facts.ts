import type { Database } from 'better-sqlite3';
import { remembered } from '../../../base/remembered';
import { JOB_SPAN_MS } from '../../../record/facts';
import type { Span } from '../../sums/periods';
import { counted, FACT_COLUMNS, factColumns, factsAt, jobKey } from '../../sums/fact-columns';
import { recordKey, type GroupKey } from '../../sums/grouping-sets';
import type { EarlierRow, FactRow } from '../../sums/summer';
import type { Dimension } from '../../summary';
import type { Words } from '../database/dictionary';
import { prepared } from '../database/prepared';
import { selected } from '../read/queries';
import { JOB_NAME_ID, SAME_JOB, type Condition } from '../read/record-filter';

type JobCells = readonly [countedAt: number, cluster: number, job: number, task: number | null];
/** A row of `factsQuery`, then the facts and the numbers of its keys. */
type Row = readonly [id: number, ...JobCells, ...more: (number | null)[]];
const FACTS = 5;
/** A row of `earlierQuery`, then the numbers of its keys. */
type Earlier = readonly [...JobCells, ...keys: (number | null)[]];
const EARLIER_KEYS = 4;

const MOST_CLASSES = 50_000;

const keyColumns = (dimensions: readonly Dimension[]): string =>
  dimensions.map((name) => `, ${name === 'job_name' ? JOB_NAME_ID : `r.${name}_id`}`).join('');

/** What sums need of records, oldest first. Parameters: @since, @until, those of the condition. */
export function factsQuery(condition: Condition, dimensions: readonly Dimension[]): string {
  return `SELECT r.id, r.counted_at, r.cluster_id, r.job_id, r.task_id, ${factColumns(SAME_JOB)}${keyColumns(dimensions)}
  ${selected(condition)} AND ${counted('r', condition.selfReported)}
  ORDER BY r.counted_at, r.id`;
}

/**
 * Earlier records of the jobs that the condition selects in a part of a day, grouped by their keys, and when the last
 * of each group counts. Few jobs have any: re-runs, and parallel jobs whose tasks end on both sides of midnight.
 * Parameters: @since, @until: the part; @earliest; the condition's.
 */
export function earlierQuery(condition: Condition, dimensions: readonly Dimension[]): string {
  const keys = keyColumns(dimensions);
  const groups = Array.from({ length: EARLIER_KEYS - 1 + dimensions.length }, (_, index) => index + 2);
  return `SELECT max(r.counted_at), r.cluster_id, r.job_id, r.task_id${keys}
  FROM (SELECT DISTINCT r.cluster_id, r.job_id, r.task_id ${selected(condition)} AND ${counted('r')} AND EXISTS (
      SELECT 1 FROM record o WHERE o.job_id = r.job_id AND o.task_id IS r.task_id AND o.id <> r.id)) j
  CROSS JOIN record r INDEXED BY record_by_job WHERE r.job_id = j.job_id AND r.task_id IS j.task_id AND r.cluster_id = j.cluster_id
    AND r.counted_at >= @earliest AND r.counted_at < @since${condition.sql} AND ${counted('r')}
  GROUP BY ${groups.join(', ')}`;
}

/** Reads what sums need of records, with their keys of `dimensions`. */
export class FactReader {
  private readonly classOf = remembered(
    (nameId: number) => recordKey('job_name', this.words.text('job_name', nameId)),
    MOST_CLASSES,
  );

  constructor(
    private readonly db: Database,
    private readonly words: Words,
    private readonly dimensions: readonly Dimension[],
  ) {}

  /** The records that a condition selects in a span, oldest first. */
  *records(condition: Condition, { since, until }: Span): Generator<FactRow, void> {
    const statement = prepared<object, Row>(this.db, factsQuery(condition, this.dimensions), 'raw');
    for (const row of statement.iterate({ ...condition.parameters, since: Math.max(since, 0), until }))
      yield {
        id: row[0],
        countedAt: row[1],
        cluster: this.words.text('cluster', row[2]),
        job: jobKey(row[2], row[3], row[4]),
        keys: this.keysOf(row, FACTS + FACT_COLUMNS),
        facts: factsAt(row, FACTS),
      };
  }

  /** Records from before the part, but not from before `earliest`, of jobs with a record in the part. */
  earlier(condition: Condition, part: Span, earliest: number): readonly EarlierRow[] {
    const from = Math.max(earliest, part.since - JOB_SPAN_MS);
    if (from >= part.since) return [];
    return prepared<object, Earlier>(this.db, earlierQuery(condition, this.dimensions), 'raw')
      .all({ ...condition.parameters, ...part, earliest: from })
      .map((row) => ({
        countedAt: row[0],
        cluster: this.words.text('cluster', row[1]),
        job: jobKey(row[1], row[2], row[3]),
        keys: this.keysOf(row, EARLIER_KEYS),
      }));
  }

  private keysOf(row: readonly (number | null)[], from: number): readonly GroupKey[] {
    const keys: GroupKey[] = [];
    for (let index = 0; index < this.dimensions.length; index++) {
      const id = row[from + index];
      const name = this.dimensions[index];
      if (id == null || name === undefined) keys.push(null);
      else keys.push(name === 'job_name' ? this.classOf(id) : recordKey(name, this.words.text(name, id)));
    }
    return keys;
  }
}

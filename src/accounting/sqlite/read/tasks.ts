import type { Database } from 'better-sqlite3';
import type { StoredRecord } from '../../../record/merge';
import type { JobRecord } from '../../../record/record';
import { arrangeAttempts, SAME_SUBMISSION_MS } from '../../attempts';
import type { Cell, Column } from '../../columns';
import { fromRow, rowPlan, SERIES_CELLS } from '../../row';
import { recordsOf } from '../../row-table';
import type { TaskRows, TasksQuery } from '../../store';
import type { Words } from '../database/dictionary';
import { answer, storeError } from '../database/faults';
import { prepared } from '../database/prepared';
import { cellsOf, COUNT_OF_JOB, pageQuery } from './queries';

/** Members of fields that nothing needs of thousands of tasks: to read them takes a third of the time. */
const LEFT_OUT = /^peak_.*_command_id$|^ge_(?!maxvmem_bytes$|category_id$|submit_command_id$)/;

/** Parameter: the job's number. */
export const PARALLEL = 'SELECT EXISTS (SELECT 1 FROM record WHERE job_id = ? AND pe_task_id IS NOT NULL)';

/** One row: what all have in common, ids, then each column as a JSON list. Parameter: the job's number. */
export const tasksQuery = (columns: readonly string[]): string =>
  `SELECT min(r.cluster_id), max(r.cluster_id), max(r.submitted_at) - min(r.submitted_at), max(r.granted_hosts LIKE '%},{%'),
    ${['id', ...columns].map((name) => `json_group_array(r.${name})`).join(', ')}
  FROM record r INDEXED BY record_by_job WHERE r.job_id = ?`;

type Found = readonly [
  cluster: number | null,
  otherCluster: number | null,
  submissions: number | null,
  isParallel: 0 | 1 | null,
  ids: string,
  ...columns: string[],
];

const listOf = (json: string | undefined): readonly Cell[] => JSON.parse(json ?? '[]') as readonly Cell[];

/** Records by their ids; those that are gone are left out. */
function readWhole(db: Database, words: Words, fields: TasksQuery['whole'], ids: readonly number[]) {
  const plan = rowPlan(fields);
  const columns: readonly Column[] = [{ name: 'id', type: 'integer', help: '' }, ...plan.columns];
  const rows = prepared<[string], string>(db, pageQuery(columns, false), 'pluck').all(JSON.stringify(ids));
  return new Map(
    rows.map((row) => {
      const cells = cellsOf(row);
      return [cells[SERIES_CELLS], fromRow(cells, SERIES_CELLS + 1, null, words, plan)] as const;
    }),
  );
}

interface Pair {
  readonly narrow: JobRecord;
  readonly whole: StoredRecord | undefined;
}

/** The latest run of each task; `rows`: by their tasks, `wholeOf`: some of them with what says which is the latest. */
function latestOf(
  rows: readonly JobRecord[],
  wholeOf: (some: readonly JobRecord[]) => readonly Pair[],
): readonly JobRecord[] {
  const again = (row: number): boolean => rows[row]?.task_id === rows[row + 1]?.task_id;
  const several = rows.filter((_, row) => (row + 1 < rows.length && again(row)) || (row > 0 && again(row - 1)));
  if (several.length === 0) return rows;
  const pairs = wholeOf(several);
  const narrowOf = new Map(pairs.map(({ narrow, whole }) => [whole?.record, narrow]));
  const { records } = arrangeAttempts(pairs.flatMap(({ whole }) => whole ?? []), { all: true });
  const earlier = new Set(
    records.flatMap(({ record, attempt, attempts }) => (attempt < attempts ? narrowOf.get(record) ?? [] : [])),
  );
  return rows.filter((record) => !earlier.has(record));
}

/** As AccountingReader's, inside one transaction. */
export function taskRows(db: Database, words: Words, query: TasksQuery): TaskRows | null {
  const { job_id: job, more_than: least } = query;
  const count = prepared<[number], number>(db, COUNT_OF_JOB, 'pluck').get(job) ?? 0;
  if (count === 0) return { cluster: null, records: [], reruns: 0, whole: () => Promise.resolve([]) };
  if (count <= least || prepared<[number], 0 | 1>(db, PARALLEL, 'pluck').get(job) === 1) return null;
  const plan = rowPlan(query.fields);
  const names = plan.columns.map(({ name }) => name).filter((name) => !LEFT_OUT.test(name));
  const found = prepared<[number], Found>(db, tasksQuery(names), 'raw').get(job);
  if (found === undefined) return null;
  const [cluster, otherCluster, submissions, isParallel, ids, ...lists] = found;
  if (cluster !== otherCluster || (submissions ?? 0) > SAME_SUBMISSION_MS || isParallel === 1) return null;
  const columnOf = new Map(names.map((name, index) => [name, listOf(lists[index])]));
  const rows = recordsOf({
    rows: count,
    columns: plan.columns.map(({ name }) => columnOf.get(name) ?? null),
    words,
    plan,
    fault: (error) => storeError(db.name, error),
  });
  const idOf = new Map(listOf(ids).map((id, index) => [rows[index], Number(id)]));
  const wholeOf = (records: readonly JobRecord[]) => {
    const found = readWhole(db, words, query.whole, records.flatMap((record) => idOf.get(record) ?? []));
    return records.map((record) => ({ narrow: record, whole: found.get(idOf.get(record) ?? null) }));
  };
  const records = latestOf(rows, wholeOf);
  return {
    cluster: cluster === null ? null : words.text('cluster', cluster),
    records,
    reruns: rows.length - records.length,
    whole: (some) => answer(db, () => wholeOf(some).map(({ narrow, whole }) => whole?.record ?? narrow)),
  };
}

import type { Database } from 'better-sqlite3';
import type { JobRecord } from '../../../record/record';
import { arrangeAttempts, SAME_SUBMISSION_MS } from '../../attempts';
import type { Cell } from '../../columns';
import { rowPlan, type RowPlan } from '../../row';
import { recordsOf } from '../../row-table';
import type { TaskRows, TasksQuery } from '../../store';
import type { Words } from '../database/dictionary';
import { answer, storeError } from '../database/faults';
import { prepared } from '../database/prepared';
import { COUNT_OF_JOB } from './queries';

/** Members of fields that nothing needs of thousands of tasks: to read them takes a third of the time. */
const LEFT_OUT = /^peak_.*_command_id$|^ge_(?!maxvmem_bytes$|category_id$|submit_command_id$)/;

/** Parameter: the job's number. */
export const PARALLEL = 'SELECT 1 FROM record WHERE job_id = ? AND pe_task_id IS NOT NULL LIMIT 1';

const listsOf = (columns: readonly string[]): string =>
  ['id', ...columns].map((name) => `json_group_array(r.${name})`).join(', ');

/** One row: what all have in common, then ids and columns, each as a JSON list. Parameter: the job's number. */
export const tasksQuery = (columns: readonly string[]): string =>
  `SELECT min(r.cluster_id), max(r.cluster_id), max(r.submitted_at) - min(r.submitted_at), max(r.granted_hosts LIKE '%},{%'),
    ${listsOf(columns)}
  FROM record r INDEXED BY record_by_job WHERE r.job_id = ?`;

/** The same of some of them. Parameter: ids, a JSON list. */
export const someTasksQuery = (columns: readonly string[]): string =>
  `SELECT NULL, NULL, NULL, NULL, ${listsOf(columns)} FROM json_each(?) CROSS JOIN record r ON r.id = value`;

type Found = readonly [
  cluster: number | null,
  otherCluster: number | null,
  submissions: number | null,
  isParallel: 0 | 1 | null,
  ids: string,
  ...columns: string[],
];

const listOf = (json: string | undefined): readonly Cell[] => JSON.parse(json ?? '[]') as readonly Cell[];

/** The records of an answer by their ids. */
class Rows {
  readonly byId: ReadonlyMap<Cell, JobRecord>;

  constructor(db: Database, words: Words, plan: RowPlan, names: readonly string[], [, , , , ids, ...lists]: Found) {
    const cellsOf = new Map(names.map((name, index) => [name, listOf(lists[index])]));
    const columns = plan.columns.map(({ name }) => cellsOf.get(name) ?? null);
    const numbers = listOf(ids);
    const fault = (error: unknown): unknown => storeError(db.name, error);
    const records = recordsOf({ rows: numbers.length, columns, words, plan, fault });
    this.byId = new Map(records.map((record, row) => [numbers[row] ?? null, record]));
  }
}

const namesOf = ({ columns }: RowPlan): readonly string[] => columns.map(({ name }) => name);

/** Records by their ids; those that are gone are left out. */
function readWhole(db: Database, words: Words, fields: TasksQuery['whole'], ids: readonly Cell[]): Rows | null {
  const plan = rowPlan(fields);
  const names = namesOf(plan);
  const found = prepared<[string], Found>(db, someTasksQuery(names), 'raw').get(JSON.stringify(ids));
  return found === undefined ? null : new Rows(db, words, plan, names, found);
}

interface Pair {
  readonly narrow: JobRecord;
  readonly whole: JobRecord | undefined;
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
  const narrowOf = new Map(pairs.map(({ narrow, whole }) => [whole, narrow]));
  const stored = pairs.flatMap(({ whole }) =>
    whole === undefined ? [] : [{ record: whole, ended: true, provenance: {} }],
  );
  const { records } = arrangeAttempts(stored, { all: true });
  const earlier = new Set(
    records.flatMap(({ record, attempt, attempts }) => (attempt < attempts ? (narrowOf.get(record) ?? []) : [])),
  );
  return rows.filter((record) => !earlier.has(record));
}

/** As AccountingReader's, inside one transaction. */
export function taskRows(db: Database, words: Words, query: TasksQuery): TaskRows | null {
  const { job_id: job, more_than: least } = query;
  const count = prepared<[number], number>(db, COUNT_OF_JOB, 'pluck').get(job) ?? 0;
  if (count === 0) return { cluster: null, records: [], reruns: 0, whole: () => Promise.resolve([]) };
  if (count <= least || prepared<[number], 1>(db, PARALLEL, 'pluck').get(job) === 1) return null;
  const plan = rowPlan(query.fields);
  const names = namesOf(plan).filter((name) => !LEFT_OUT.test(name));
  const found = prepared<[number], Found>(db, tasksQuery(names), 'raw').get(job);
  if (found === undefined) return null;
  const [cluster, otherCluster, submissions, isParallel] = found;
  if (cluster !== otherCluster || (submissions ?? 0) > SAME_SUBMISSION_MS || isParallel === 1) return null;
  const { byId } = new Rows(db, words, plan, names, found);
  const rows = [...byId.values()];
  const idOf = new Map([...byId].map(([id, record]) => [record, id]));
  const wholeOf = (some: readonly JobRecord[]): readonly Pair[] => {
    const ids = some.map((record) => idOf.get(record) ?? null);
    const whole = readWhole(db, words, query.whole, ids)?.byId;
    return some.map((narrow, index) => ({ narrow, whole: whole?.get(ids[index] ?? null) }));
  };
  const records = latestOf(rows, wholeOf);
  return {
    cluster: cluster === null ? null : words.text('cluster', cluster),
    records,
    reruns: rows.length - records.length,
    whole: (some) => answer(db, () => wholeOf(some).map(({ narrow, whole }) => whole ?? narrow)),
  };
}

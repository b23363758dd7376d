import type { Database } from 'better-sqlite3';
import { SAME_SUBMISSION_MS } from '../../attempts';
import type { Cell } from '../../columns';
import type { TaskTable, TaskTableQuery } from '../../store';
import { tableColumns } from '../../tasks';
import type { Words } from '../database/dictionary';
import { storeError } from '../database/faults';
import { prepared } from '../database/prepared';
import { COUNT_OF_JOB } from './queries';

/** Parameter: the job's number. */
export const PARALLEL = 'SELECT 1 FROM record WHERE job_id = ? AND pe_task_id IS NOT NULL LIMIT 1';

const listsOf = (columns: readonly string[]): string =>
  ['id', ...columns].map((name) => `json_group_array(r.${name})`).join(', ');

/** One row: what all have in common, then ids and columns, each as a JSON list. Parameter: the job's number. */
export const tasksQuery = (columns: readonly string[]): string =>
  `SELECT min(r.cluster_id), max(r.cluster_id), max(r.submitted_at) - min(r.submitted_at), max(r.granted_hosts LIKE '%},{%'),
    ${listsOf(columns)}
  FROM record r INDEXED BY record_by_job WHERE r.job_id = ?`;

/** The same of some of them. Parameters: ids as a JSON list, the job's number. */
export const someTasksQuery = (columns: readonly string[]): string =>
  `SELECT NULL, NULL, NULL, NULL, ${listsOf(columns)}
  FROM json_each(?) CROSS JOIN record r ON r.id = value WHERE r.job_id = ?`;

type Found = readonly [
  cluster: number | null,
  otherCluster: number | null,
  submissions: number | null,
  isParallel: 0 | 1 | null,
  ids: string,
  ...columns: string[],
];

const listOf = (json: string | undefined): readonly Cell[] => JSON.parse(json ?? '[]') as readonly Cell[];

/** As AccountingReader's, inside one transaction. */
export function taskTable(db: Database, words: Words, query: TaskTableQuery): TaskTable | null {
  const { job_id: job, rows } = query;
  const names = tableColumns(query);
  const tableOf = ([cluster, , , , ids, ...lists]: Found): TaskTable => ({
    cluster: cluster === null ? null : words.text('cluster', cluster),
    ids: listOf(ids).map(Number),
    columns: new Map(names.map((name, index) => [name, listOf(lists[index])])),
    words,
    fault: (error) => storeError(db.name, error),
  });
  if ('ids' in rows) {
    const some = prepared<[string, number], Found>(db, someTasksQuery(names), 'raw').get(JSON.stringify(rows.ids), job);
    return some === undefined ? null : tableOf(some);
  }
  const count = prepared<[number], number>(db, COUNT_OF_JOB, 'pluck').get(job) ?? 0;
  if (count > 0 && count <= rows.more_than) return null;
  if (prepared<[number], 1>(db, PARALLEL, 'pluck').get(job) === 1) return null;
  const found = prepared<[number], Found>(db, tasksQuery(names), 'raw').get(job);
  if (found === undefined) return null;
  const [cluster, otherCluster, submissions, isParallel] = found;
  return cluster !== otherCluster || (submissions ?? 0) > SAME_SUBMISSION_MS || isParallel === 1
    ? null
    : tableOf(found);
}

import type { Database } from 'better-sqlite3';
import { SAME_SUBMISSION_MS } from '../../attempts';
import type { Cell } from '../../columns';
import type { TaskTable, TaskTableQuery } from '../../store';
import { DICTIONARIES, tableColumns } from '../../tasks';
import type { Words } from '../database/dictionary';
import { storeError } from '../database/faults';
import { prepared } from '../database/prepared';

/** Parameter: the job's number. */
export const PARALLEL = 'SELECT 1 FROM record WHERE job_id = ? AND pe_task_id IS NOT NULL LIMIT 1';

/** Rows of a list that SQLite makes: one of 50,000 takes twice as long as 50 of these. */
const BLOCK = 1000;

/** Index of the first list. */
const LISTS_AT = 7;

/** The records of a job in the order of their tasks. Parameter: its number. */
export const IDS_OF_JOB = 'SELECT id FROM record INDEXED BY record_by_job WHERE job_id = ? ORDER BY task_id';

/**
 * One row: what some of a job's records have in common, then ids and columns, each as a JSON list. Parameters: ids as a
 * JSON list, the job's number.
 */
export const tasksQuery = (columns: readonly string[]): string =>
  `SELECT min(r.cluster_id), max(r.cluster_id), min(r.owner_id), max(r.owner_id), min(r.submitted_at), max(r.submitted_at), max(r.granted_hosts LIKE '%},{%'),
    ${['id', ...columns].map((name) => `json_group_array(r.${name})`).join(', ')}
  FROM json_each(?) CROSS JOIN record r ON r.id = value WHERE r.job_id = ?`;

type Block = readonly [
  cluster: number | null,
  otherCluster: number | null,
  owner: number | null,
  otherOwner: number | null,
  submitted: number | null,
  lastSubmitted: number | null,
  isParallel: 0 | 1 | null,
  ...lists: string[],
];

function blocksOf(db: Database, job: number, ids: readonly number[], columns: readonly string[]): readonly Block[] {
  const statement = prepared<[string, number], Block>(db, tasksQuery(columns), 'raw');
  const blocks: Block[] = [];
  for (let at = 0; at < ids.length; at += BLOCK) {
    const block = statement.get(JSON.stringify(ids.slice(at, at + BLOCK)), job);
    if (block !== undefined) blocks.push(block);
  }
  return blocks;
}

/** The list at a place of each block as one. */
const listAt = (blocks: readonly Block[], at: number): readonly Cell[] =>
  ([] as Cell[]).concat(...blocks.map((block) => JSON.parse(String(block[at])) as readonly Cell[]));

/** Whether the records are of one user's job, whose tasks run on one host each. */
function areTasks(blocks: readonly Block[]): boolean {
  const known = (values: readonly (number | null)[]): readonly number[] => values.filter((value) => value !== null);
  const submitted = known(blocks.flatMap((block) => [block[4], block[5]]));
  return (
    new Set(blocks.flatMap(([least, most]) => [least, most])).size <= 1 &&
    new Set(known(blocks.flatMap((block) => [block[2], block[3]]))).size <= 1 &&
    Math.max(...submitted) - Math.min(...submitted) <= SAME_SUBMISSION_MS &&
    blocks.every((block) => block[6] !== 1)
  );
}

/** Reads the strings of a column while the transaction lasts: in one of its own each takes 40 times as long. */
function readWords(words: Words, column: string, cells: readonly Cell[]): void {
  const dictionary = DICTIONARIES.get(column);
  if (dictionary !== undefined)
    for (const cell of new Set(cells)) if (typeof cell === 'number') words.text(dictionary, cell);
}

/** As AccountingReader's, inside one transaction. */
export function taskTable(db: Database, words: Words, query: TaskTableQuery): TaskTable | null {
  const { job_id: job, rows } = query;
  const names = tableColumns(query);
  const ids = 'ids' in rows ? rows.ids : prepared<[number], number>(db, IDS_OF_JOB, 'pluck').all(job);
  if ('more_than' in rows) {
    if (ids.length > 0 && ids.length <= rows.more_than) return null;
    if (prepared<[number], 1>(db, PARALLEL, 'pluck').get(job) === 1) return null;
  }
  const blocks = blocksOf(db, job, ids, names);
  if ('more_than' in rows && !areTasks(blocks)) return null;
  const cluster = 'ids' in rows ? null : (blocks[0]?.[0] ?? null);
  const columns = names.map((name, index) => [name, listAt(blocks, LISTS_AT + 1 + index)] as const);
  for (const [name, cells] of columns) readWords(words, name, cells);
  return {
    cluster: cluster === null ? null : words.text('cluster', cluster),
    ids: listAt(blocks, LISTS_AT).map(Number),
    columns: new Map(columns),
    words,
    fault: (error) => storeError(db.name, error),
  };
}

import type { Database } from 'better-sqlite3';
import { SAME_SUBMISSION_MS } from '../../attempts';
import type { Cell } from '../../cell-codec';
import type { TaskTable, TaskTableQuery } from '../../store';
import { TaskColumn } from '../../task-column';
import { DICTIONARIES, tableColumns } from '../../tasks';
import type { Words } from '../database/dictionary';
import { stepError } from '../database/faults';
import { prepared } from '../database/prepared';

/** Parameter: the job's number. */
export const PARALLEL = 'SELECT 1 FROM record WHERE job_id = ? AND pe_task_id IS NOT NULL LIMIT 1';

/** Rows in a list that SQLite makes: one list of 50,000 takes twice as long as 50 lists of this length. */
const BLOCK = 1000;

/** The ids of a job's records in the order of their tasks. Parameter: the job's number. */
export const IDS_OF_JOB = 'SELECT id FROM record INDEXED BY record_by_job WHERE job_id = ? ORDER BY task_id';

/**
 * One row: what some of a job's records have in common, how many of them do not have the cells @same0 ... in the columns
 * `same`, then ids and the other columns, each as a JSON list. Other parameters: @ids (JSON), @job.
 */
export function tasksQuery(columns: readonly string[], same: readonly string[] = []): string {
  const others = same.map((name, index) => `r.${name} IS NOT @same${index}`);
  return `SELECT min(r.cluster_id), max(r.cluster_id), min(r.owner_id), max(r.owner_id), min(r.submitted_at), max(r.submitted_at), max(r.granted_hosts LIKE '%},{%'),
    ${others.length === 0 ? '0' : `sum(${others.join(' OR ')})`}, ${['id', ...columns].map((name) => `json_group_array(r.${name})`).join(', ')}
  FROM json_each(@ids) CROSS JOIN record r ON r.id = value WHERE r.job_id = @job`;
}

/** What the records of a block have in common. */
type Common = readonly [
  cluster: number | null,
  otherCluster: number | null,
  owner: number | null,
  otherOwner: number | null,
  submitted: number | null,
  lastSubmitted: number | null,
  isParallel: 0 | 1 | null,
];
type Block = readonly [...Common, others: number | null, ids: string, ...lists: string[]];
const OTHERS_AT = 7;
const IDS_AT = 8;

const cellsOf = (list: Cell | undefined): readonly Cell[] => JSON.parse(String(list)) as readonly Cell[];

interface Gathered {
  readonly ids: number[];
  readonly columns: ReadonlyMap<string, TaskColumn>;
}

/** Adds the next block of a job's records to `columns`, and their ids to `found`. */
function readBlock(
  db: Database,
  job: number,
  ids: readonly number[],
  { ids: found, columns }: Gathered,
): Common | null {
  const read = (same: readonly string[]): Common | null => {
    const listed = [...columns.keys()].filter((name) => !same.includes(name));
    const cells = same.map((name, index) => [`same${index}`, columns.get(name)?.at(0) ?? null] as const);
    const parameters = { ids: JSON.stringify(ids), job, ...Object.fromEntries(cells) };
    const block = prepared<object, Block>(db, tasksQuery(listed, same), 'raw').get(parameters);
    if (block === undefined || (block[OTHERS_AT] ?? 0) > 0) return null;
    const own = cellsOf(block[IDS_AT]).map(Number);
    found.push(...own);
    for (const [index, name] of listed.entries()) columns.get(name)?.add(cellsOf(block[IDS_AT + 1 + index]));
    for (const name of same) columns.get(name)?.addSame(own.length);
    return block.slice(0, OTHERS_AT) as unknown as Common;
  };
  // Cells that all rows so far share are mostly shared by the next rows, too.
  const same = found.length === 0 ? [] : [...columns].flatMap(([name, column]) => (column.isSame ? [name] : []));
  return (same.length === 0 ? null : read(same)) ?? read([]);
}

function readBlocks(db: Database, job: number, ids: readonly number[], names: readonly string[]) {
  const gathered: Gathered = { ids: [], columns: new Map(names.map((name) => [name, new TaskColumn(ids.length)])) };
  const commons: Common[] = [];
  for (let at = 0; at < ids.length; at += BLOCK) {
    const common = readBlock(db, job, ids.slice(at, at + BLOCK), gathered);
    if (common !== null) commons.push(common);
  }
  return { ...gathered, commons };
}

/** Whether the records are of a single user's job, each of whose tasks runs on one host. */
function areTasks(commons: readonly Common[]): boolean {
  const known = (values: readonly (number | null)[]): readonly number[] => values.filter((value) => value !== null);
  const submitted = known(commons.flatMap(([, , , , first, last]) => [first, last]));
  return (
    new Set(commons.flatMap(([least, most]) => [least, most])).size <= 1 &&
    new Set(known(commons.flatMap(([, , owner, other]) => [owner, other]))).size <= 1 &&
    Math.max(...submitted) - Math.min(...submitted) <= SAME_SUBMISSION_MS &&
    commons.every(([, , , , , , isParallel]) => isParallel !== 1)
  );
}

/** Reads the strings of a column inside the transaction: in its own transaction each takes 40 times as long. */
function readWords(words: Words, name: string, column: TaskColumn): void {
  const dictionary = DICTIONARIES.get(name);
  if (dictionary === undefined) return;
  for (const cell of column.distinct()) if (typeof cell === 'number') words.text(dictionary, cell);
}

/** As `AccountingReader.taskTable`; call it inside one transaction. */
export function taskTable(db: Database, words: Words, query: TaskTableQuery): TaskTable | null {
  const { job_id: job, rows } = query;
  const ids = 'ids' in rows ? rows.ids : prepared<[number], number>(db, IDS_OF_JOB, 'pluck').all(job);
  if ('more_than' in rows) {
    if (ids.length > 0 && ids.length <= rows.more_than) return null;
    if (prepared<[number], 1>(db, PARALLEL, 'pluck').get(job) === 1) return null;
  }
  const { commons, ids: found, columns } = readBlocks(db, job, ids, tableColumns(query));
  if ('more_than' in rows && !areTasks(commons)) return null;
  const cluster = 'ids' in rows ? null : (commons[0]?.[0] ?? null);
  for (const [name, column] of columns) readWords(words, name, column);
  return {
    cluster: cluster === null ? null : words.text('cluster', cluster),
    ids: found,
    columns,
    words,
    fault: (error) => stepError(db, error),
  };
}

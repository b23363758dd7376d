import type { StoredRecord } from '../../record/merge';
import { SAME_SUBMISSION_MS } from '../attempts';
import type { Cell, Column } from '../cell-codec';
import { OwnNumbers } from '../own-numbers';
import { columnAt, COLUMNS, toRow } from '../row';
import type { TaskTable, TaskTableQuery } from '../store';
import { TaskColumn } from '../task-column';
import { tableColumns } from '../tasks';
import { Parameters } from './record-filter';
import { textColumn } from './rows';
import { notOf, type Snapshot } from './snapshot';

/** What shows whether runs are of one array: its runs have the same cluster, and were submitted at the same time. */
interface Extent {
  readonly clusters: ReadonlySet<string>;
  readonly submitted: readonly number[];
  readonly isParallel: boolean;
  /** Whether records that another user handed in may be among the runs. */
  readonly mayBeClaimed: boolean;
}

interface Lists extends Extent {
  readonly ids: readonly number[];
  /** 0: no array task. */
  readonly tasks: readonly number[];
  readonly cells: readonly (readonly Cell[])[];
}

type Found = readonly [
  cluster: string | null,
  otherCluster: string | null,
  owner: number | null,
  otherOwner: number | null,
  submitted: number | null,
  lastSubmitted: number | null,
  isParallel: boolean | null,
  ids: string | null,
  tasks: string | null,
  ...columns: (string | null)[],
];

const listOf = (json: string | null | undefined): readonly Cell[] => JSON.parse(json ?? '[]') as readonly Cell[];

const columnOf = (name: string): Column | undefined => COLUMNS[columnAt(name)];

/** A column of `r` as a JSON list; numbers are joined as they are, which takes half the time. */
function listed(name: string): string {
  const isText = name !== 'id' && name !== 'task' && columnOf(name)?.type === 'text';
  return isText ? `json_agg(r.${name})::text` : `'[' || string_agg(coalesce(r.${name}::text, 'null'), ',') || ']'`;
}

/**
 * The columns with the numbers of `words` for their strings. Each string is read from one row that has it: thousands of
 * rows share few strings, and joining each row with its strings would take four times as long as all else. `condition`
 * is on `r`.
 */
async function withWords(
  { db, source }: Snapshot,
  names: readonly string[],
  { ids, cells }: Pick<Lists, 'ids' | 'cells'>,
  { condition, parameters }: Condition,
  words: OwnNumbers,
): Promise<Lists['cells']> {
  const coded = names.flatMap((name, index) => {
    const { dictionary } = columnOf(name) ?? {};
    return dictionary === undefined ? [] : [{ name, index, dictionary, numbers: new Map<Cell, number | null>() }];
  });
  const shown = new Set<number>();
  for (const { index, numbers } of coded)
    for (const [row, cell] of (cells[index] ?? []).entries()) {
      if (cell === null || numbers.has(cell)) continue;
      numbers.set(cell, null);
      shown.add(ids[row] ?? 0);
    }
  if (shown.size === 0) return cells;
  const list = parameters.putNumbers(shown);
  const rows = await db.rows<readonly Cell[]>(
    `SELECT ${coded.map(({ name }) => `r.${name}, r.${textColumn(name)}`).join(', ')}
     FROM ${source.records} AS r WHERE ${condition} AND r.id IN ${list}`,
    parameters.values,
  );
  for (const row of rows)
    for (const [at, { numbers, dictionary }] of coded.entries()) {
      const [id = null, text = null] = [row[2 * at], row[2 * at + 1]];
      if (typeof text === 'string') numbers.set(id, words.intern(dictionary, text));
    }
  const numbersAt = new Map(coded.map(({ index, numbers }) => [index, numbers]));
  return cells.map((column, index) => {
    const numbers = numbersAt.get(index);
    return numbers === undefined ? column : column.map((cell) => numbers.get(cell) ?? null);
  });
}

interface Condition {
  readonly condition: string;
  readonly parameters: Parameters;
}

/** Rows of the table in the order of tasks; `condition` is on `r`. */
async function listsOf(snapshot: Snapshot, names: readonly string[], of: Condition, words: OwnNumbers): Promise<Lists> {
  const [found] = await snapshot.db.rows<Found>(
    `SELECT min(r.cluster), max(r.cluster), min(r.owner_id), max(r.owner_id), min(r.submitted_at), max(r.submitted_at),
       bool_or(r.pe_task_id IS NOT NULL OR coalesce(r.granted_hosts LIKE '%},{%', false)),
       ${['id', 'task', ...names].map(listed).join(', ')}
     FROM (SELECT *, coalesce(r.task_id, 0) AS task FROM ${snapshot.source.records} AS r
       WHERE ${of.condition} ORDER BY task, r.id) AS r`,
    of.parameters.values,
  );
  const [cluster = null, other = null, owner = null, otherOwner = null, ...rest] = found ?? [];
  const [first = null, last = null, isParallel = null, list, tasks, ...columns] = rest;
  const ids = listOf(list).map(Number);
  return {
    clusters: new Set([cluster, other].filter((name) => name !== null)),
    submitted: [first, last].filter((time) => time !== null),
    isParallel: isParallel === true,
    mayBeClaimed: owner !== otherOwner,
    ids,
    tasks: listOf(tasks).map(Number),
    cells: await withWords(snapshot, names, { ids, cells: columns.map(listOf) }, of, words),
  };
}

const taskOf = ({ record }: StoredRecord): number => record.task_id ?? 0;
/** The id of a run that waits in the inbox: negative, unlike any in the table. */
const waitingId = (stored: StoredRecord): number => -1 - taskOf(stored);

function extentOf(waiting: readonly StoredRecord[]): Extent {
  const records = waiting.map(({ record }) => record);
  return {
    clusters: new Set(records.map(({ cluster }) => cluster)),
    submitted: records.flatMap(({ submitted_at: time }) => (time === null ? [] : [Date.parse(time)])),
    isParallel: records.some(
      ({ pe_task_id, granted_hosts }) => pe_task_id !== null || (granted_hosts?.length ?? 0) > 1,
    ),
    mayBeClaimed: records.some(({ trust }) => trust === 'self-reported'),
  };
}

/** Whether the parts are runs of a single user's array without parallel tasks. */
function isOneArray(parts: readonly Extent[]): boolean {
  const times = parts.flatMap(({ submitted }) => submitted);
  const [first, last] = times.reduce(
    ([least, most], time) => [Math.min(least, time), Math.max(most, time)],
    [Infinity, -Infinity],
  );
  const clusters = new Set(parts.flatMap((part) => [...part.clusters]));
  return (
    clusters.size <= 1 &&
    !(last - first > SAME_SUBMISSION_MS) &&
    !parts.some(({ isParallel, mayBeClaimed }) => isParallel || mayBeClaimed)
  );
}

/** Rows of the table together with waiting runs, in the order of tasks. */
function tableOf(
  names: readonly string[],
  lists: Lists,
  waiting: readonly StoredRecord[],
  words: OwnNumbers,
): Omit<TaskTable, 'cluster' | 'fault'> {
  const rows = waiting.map((stored) => toRow(stored, words));
  const tasks = [...lists.tasks, ...waiting.map(taskOf)];
  const order = [...tasks.keys()].sort((a, b) => (tasks[a] ?? 0) - (tasks[b] ?? 0) || a - b);
  const inOrder = <T>(all: readonly T[]): readonly T[] =>
    waiting.length === 0 ? all : order.flatMap((index) => all.slice(index, index + 1));
  const cellsOf = (name: string, index: number): readonly Cell[] =>
    inOrder([...(lists.cells[index] ?? []), ...rows.map((row) => row[columnAt(name)] ?? null)]);
  return {
    ids: inOrder([...lists.ids, ...waiting.map(waitingId)]),
    columns: new Map(names.map((name, index) => [name, TaskColumn.of(cellsOf(name, index))])),
    words,
  };
}

/** See `AccountingReader.taskTable`. */
export async function taskTable(snapshot: Snapshot, query: TaskTableQuery): Promise<Omit<TaskTable, 'fault'> | null> {
  const { job_id: job, rows } = query;
  const names = tableColumns(query);
  const waits = new Parameters();
  const held = await snapshot.jobsOf(`i.job_id = ${waits.put(job)}::bigint`, waits);
  const waiting = [...held.all()].map(({ stored }) => stored);
  const words = new OwnNumbers();
  const parameters = new Parameters();
  const ofJob = `r.job_id = ${parameters.put(job)}::bigint${notOf(held.ids())}`;
  if ('ids' in rows) {
    const wanted = new Set(rows.ids);
    const condition = `${ofJob} AND r.id IN ${parameters.putNumbers(rows.ids)}`;
    const lists = await listsOf(snapshot, names, { condition, parameters }, words);
    const some = waiting.filter((stored) => wanted.has(waitingId(stored)));
    return { cluster: null, ...tableOf(names, lists, some, words) };
  }
  const lists = await listsOf(snapshot, names, { condition: ofJob, parameters }, words);
  const parts = [lists, extentOf(waiting)];
  const count = lists.ids.length + waiting.length;
  const isEachOnce = new Set(waiting.map(taskOf)).size === waiting.length;
  if ((count > 0 && count <= rows.more_than) || !isEachOnce || !isOneArray(parts)) return null;
  const [cluster = null] = parts.flatMap(({ clusters }) => [...clusters]);
  return { cluster, ...tableOf(names, lists, waiting, words) };
}

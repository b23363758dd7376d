import type { FieldName } from '../record/fields';
import type { JobRecord } from '../record/record';
import { arrangeAttempts } from './attempts';
import { compactCopy, type Cell, type Dictionary } from './cell-codec';
import { OwnNumbers } from './own-numbers';
import { COLUMNS, damageOf, NO_FIELDS, rowPlan, type RowPlan } from './row';
import type { AccountingReader, TaskTable, TaskTableQuery } from './store';

/** The latest run of each array task, from a store's columns: few fields of all, more of those shown by themselves. */

/** The records of an array that has no more of them than this are read whole. */
export const MANY_TASKS = 1000;

/** The most runs that are asked for at once: their ids go into a URL. */
export const MOST_IDS = 400;

/** The dictionaries of columns, by the column's name. */
export const DICTIONARIES: ReadonlyMap<string, Dictionary> = new Map(
  COLUMNS.flatMap(({ name, dictionary }) => (dictionary === undefined ? [] : [[name, dictionary] as const])),
);

/** How the records of a table are read: in brief, except for ids, which are asked for to show tasks by themselves. */
const tablePlan = ({ fields, rows }: Pick<TaskTableQuery, 'fields' | 'rows'>): RowPlan =>
  rowPlan(fields, !('ids' in rows));

/** The columns that a table has. */
export const tableColumns = (query: Pick<TaskTableQuery, 'fields' | 'rows'>): readonly string[] =>
  tablePlan(query).columns.map(({ name }) => name);

export interface TasksQuery {
  readonly job_id: number;
  /** The answer is null if there are no more records than this. */
  readonly more_than: number;
  /** The fields needed of every task (`fields`), and of the tasks that are shown by themselves (`whole`). */
  readonly fields: readonly FieldName[];
  readonly whole: readonly FieldName[];
}

export interface TaskRows {
  /** null: the number is not known. */
  readonly cluster: string | null;
  /** How many tasks there are. */
  readonly tasks: number;
  /** Earlier runs of tasks. */
  readonly reruns: number;
  /**
   * The latest record of each task, in the order of the tasks, made anew each time: to keep thousands of records takes
   * longer than to make them again. Fields are read in brief. Throws StoreError.
   */
  records(): Iterable<JobRecord>;
  /** The same records with only some of the query's fields. */
  records<Name extends FieldName>(fields: readonly Name[]): Iterable<Pick<JobRecord, Name>>;
  /** The records of some tasks, in the order of `tasks`, with the query's `whole` fields. Rejects with StoreError. */
  whole(tasks: readonly JobRecord['task_id'][]): Promise<readonly JobRecord[]>;
}

/**
 * A function that makes a row's record; fields outside the plan are as in `empty`. It throws StoreError. What all rows
 * share is read once, and copied.
 */
function recordMaker(
  { columns, words, fault }: TaskTable,
  { columns: all, fields: planned, merged }: RowPlan,
  empty = NO_FIELDS,
): (row: number) => JobRecord {
  const guarded = <T>(read: () => T): T => {
    try {
      return read();
    } catch (error) {
      throw fault(damageOf(error));
    }
  };
  const shared: Record<string, unknown> = { ...empty };
  const steps = planned.flatMap(({ name, at, read }, index) => {
    const own = all.slice(at, planned[index + 1]?.at ?? merged).map((column) => columns.get(column.name));
    const cells = own.map((column): Cell => column?.at(0) ?? null);
    const varying = own.flatMap((column, place) => (column === undefined || column.isSame ? [] : [{ column, place }]));
    if (varying.length === 0) {
      shared[name] = guarded(() => read(cells, 0, words));
      return [];
    }
    const readAt = (row: number): unknown => {
      for (const { column, place } of varying) cells[place] = column.at(row);
      return read(cells, 0, words);
    };
    return [{ name, readAt }];
  });
  const template = compactCopy(shared);
  return (row) =>
    guarded(() => {
      const record = { ...template };
      for (const { name, readAt } of steps) record[name] = readAt(row);
      return record as unknown as JobRecord;
    });
}

/** The records of a table with some fields alone. Throws StoreError. */
export function* briefRecords<Name extends FieldName>(
  table: TaskTable,
  fields: readonly Name[],
  rows: Iterable<number> = table.ids.keys(),
): Iterable<Pick<JobRecord, Name>> {
  const empty = compactCopy(Object.fromEntries(fields.map((name) => [name, NO_FIELDS[name]])));
  const recordOf = recordMaker(table, rowPlan(fields), empty);
  for (const row of rows) yield recordOf(row);
}

/** The table with a dictionary of its own, to be sent. */
export function withOwnWords({ cluster, ids, columns, words }: TaskTable): {
  readonly cluster: string | null;
  readonly ids: readonly number[];
  /** A cell for each row, or one for all of them. */
  readonly columns: Readonly<Record<string, readonly Cell[]>>;
  readonly words: readonly string[];
} {
  const own = new OwnNumbers();
  const renumbered = [...columns].map(([name, column]) => {
    const cells = column.isSame ? [column.at(0)] : column.toCells();
    const dictionary = DICTIONARIES.get(name);
    if (dictionary === undefined) return [name, cells] as const;
    const known = new Map<number, number>();
    const numberOf = (cell: Cell): Cell => {
      if (typeof cell !== 'number') return cell;
      const before = known.get(cell);
      if (before !== undefined) return before;
      const made = own.intern(dictionary, words.text(dictionary, cell));
      known.set(cell, made);
      return made;
    };
    return [name, cells.map(numberOf)] as const;
  });
  return { cluster, ids, columns: Object.fromEntries(renumbered), words: own.texts };
}

type RecordsById = ReadonlyMap<number, JobRecord>;

/** Some records of the job with the query's `whole` fields, by their ids. Rejects with StoreError. */
async function wholeById(
  reader: AccountingReader,
  { job_id, whole: fields }: TasksQuery,
  ids: readonly number[],
): Promise<RecordsById> {
  const found = new Map<number, JobRecord>();
  for (let at = 0; at < ids.length; at += MOST_IDS) {
    const rows = { ids: ids.slice(at, at + MOST_IDS) };
    const table = (await reader.taskTable?.({ job_id, fields, rows })) ?? null;
    if (table === null) continue;
    const recordOf = recordMaker(table, tablePlan({ fields, rows }));
    for (const [row, id] of table.ids.entries()) found.set(id, recordOf(row));
  }
  return found;
}

/** The ids of rows that are not a task's latest run; the rows are in the order of their tasks. */
async function earlierRuns(
  { ids, columns }: TaskTable,
  wholeOf: (ids: readonly number[]) => Promise<RecordsById>,
): Promise<ReadonlySet<number>> {
  const tasks = columns.get('task_id')?.toCells() ?? [];
  const several = ids.filter((_, row) => tasks[row] === tasks[row + 1] || (row > 0 && tasks[row] === tasks[row - 1]));
  if (several.length === 0) return new Set();
  const whole = await wholeOf(several);
  const idOf = new Map([...whole].map(([id, record]) => [record, id]));
  const stored = [...whole.values()].map((record) => ({ record, ended: true, provenance: {} }));
  const { records } = arrangeAttempts(stored, { all: true });
  return new Set(
    records.flatMap(({ record, attempt, attempts }) => (attempt < attempts ? (idOf.get(record) ?? []) : [])),
  );
}

/** Reads the tasks of an array. null: read the store's records instead. Rejects with StoreError. */
export async function readTasks(reader: AccountingReader, query: TasksQuery): Promise<TaskRows | null> {
  const { job_id, fields, more_than } = query;
  const read = [...new Set([...fields, 'task_id'] as const)];
  const table = (await reader.taskTable?.({ job_id, fields: read, rows: { more_than } })) ?? null;
  if (table === null) return null;
  const wholeOf = (ids: readonly number[]): Promise<RecordsById> => wholeById(reader, query, ids);
  const earlier = await earlierRuns(table, wholeOf);
  const rows = [...table.ids.keys()].filter((row) => !earlier.has(table.ids[row] ?? NaN));
  const taskAt = (row: number): Cell => table.columns.get('task_id')?.at(row) ?? null;

  function* allFields(): Iterable<JobRecord> {
    const recordOf = recordMaker(table as TaskTable, rowPlan(read));
    for (const row of rows) yield recordOf(row);
  }
  return {
    cluster: table.cluster,
    tasks: rows.length,
    reruns: table.ids.length - rows.length,
    records: (some?: readonly FieldName[]) => (some === undefined ? allFields() : briefRecords(table, some, rows)),
    whole: async (wanted) => {
      const rowOf = new Map<Cell, number | null>(wanted.map((task) => [task, null]));
      for (const row of rows) if (rowOf.has(taskAt(row))) rowOf.set(taskAt(row), row);
      const found = wanted.flatMap((task) => rowOf.get(task) ?? []);
      const whole = await wholeOf(found.flatMap((row) => table.ids[row] ?? []));
      const recordOf = recordMaker(table, rowPlan(read));
      return found.map((row) => whole.get(table.ids[row] ?? NaN) ?? recordOf(row));
    },
  };
}

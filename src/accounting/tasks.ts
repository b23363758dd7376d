import type { FieldName } from '../record/fields';
import type { JobRecord } from '../record/record';
import { arrangeAttempts } from './attempts';
import type { Cell, Dictionary } from './columns';
import { OwnNumbers } from './own-numbers';
import { COLUMNS, damageOf, NO_FIELDS, rowPlan } from './row';
import type { AccountingReader, TaskTable, TaskTableQuery } from './store';

/** The latest run of each task of an array, out of a store's columns: with few fields of each, and more of those that are shown. */

/** Of an array with no more records these are read whole. */
export const MANY_TASKS = 1000;

/** Runs that are asked for at once: their numbers go into an address. */
export const MOST_IDS = 400;

const DICTIONARIES: ReadonlyMap<string, Dictionary> = new Map(
  COLUMNS.flatMap(({ name, dictionary }) => (dictionary === undefined ? [] : [[name, dictionary] as const])),
);

/** Members of fields that nothing needs of thousands of tasks: to read them takes a third of the time. */
const LEFT_OUT = /^peak_.*_command_id$|^ge_(?!maxvmem_bytes$|category_id$|submit_command_id$)/;

/** The columns that a table has. */
export function tableColumns({ fields, rows }: Pick<TaskTableQuery, 'fields' | 'rows'>): readonly string[] {
  const names = rowPlan(fields).columns.map(({ name }) => name);
  return 'ids' in rows ? names : names.filter((name) => !LEFT_OUT.test(name));
}

export interface TasksQuery {
  readonly job_id: number;
  /** Of no more records than these it is null. */
  readonly more_than: number;
  /** The fields that are needed of every task, and those of the tasks that are shown by themselves. */
  readonly fields: readonly FieldName[];
  readonly whole: readonly FieldName[];
}

export interface TaskRows {
  /** null: the number is not known. */
  readonly cluster: string | null;
  /**
   * One of each task, in their order; of their peaks the command is left out, of Grid Engine's figures all but maxvmem,
   * category and the submission.
   */
  readonly records: readonly JobRecord[];
  /** Earlier runs of tasks. */
  readonly reruns: number;
  /** Some of `records`, with the query's `whole` fields. Rejects with StoreError. */
  whole(records: readonly JobRecord[]): Promise<readonly JobRecord[]>;
}

/** Records by what the store calls them; a field that is not of `fields` is empty. Throws StoreError. */
export function recordsIn(
  { ids, columns, words, fault }: TaskTable,
  fields: readonly FieldName[],
): ReadonlyMap<number, JobRecord> {
  const { columns: all, fields: planned, merged } = rowPlan(fields);
  const inOrder = all.map(({ name }): readonly Cell[] => columns.get(name) ?? []);
  const records = ids.map((): Record<string, unknown> => ({ ...NO_FIELDS }));
  try {
    planned.forEach(({ name, at, read }, index) => {
      const own = inOrder.slice(at, planned[index + 1]?.at ?? merged);
      const cells: Cell[] = own.map(() => null);
      records.forEach((record, row) => {
        for (let column = 0; column < own.length; column++) cells[column] = own[column]?.[row] ?? null;
        record[name] = read(cells, 0, words);
      });
    });
  } catch (error) {
    throw fault(damageOf(error));
  }
  return new Map(records.map((record, row) => [ids[row] ?? 0, record as unknown as JobRecord]));
}

/** The same table with strings by numbers of its own. */
export function withOwnWords({ cluster, ids, columns, words }: TaskTable): {
  readonly cluster: string | null;
  readonly ids: readonly number[];
  readonly columns: Readonly<Record<string, readonly Cell[]>>;
  readonly words: readonly string[];
} {
  const own = new OwnNumbers();
  const renumbered = [...columns].map(([name, cells]) => {
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

interface Pair {
  readonly narrow: JobRecord;
  readonly whole: JobRecord | undefined;
}
type WholeOf = (some: readonly JobRecord[]) => Promise<readonly Pair[]>;

function wholeReader(
  reader: AccountingReader,
  { job_id, whole: fields }: TasksQuery,
  narrow: ReadonlyMap<number, JobRecord>,
): WholeOf {
  const idOf = new Map([...narrow].map(([id, record]) => [record, id]));
  return async (some) => {
    const ids = some.flatMap((record) => idOf.get(record) ?? []);
    const found = new Map<number, JobRecord>();
    for (let at = 0; at < ids.length; at += MOST_IDS) {
      const rows = { ids: ids.slice(at, at + MOST_IDS) };
      const table = (await reader.taskTable?.({ job_id, fields, rows })) ?? null;
      if (table !== null) for (const [id, record] of recordsIn(table, fields)) found.set(id, record);
    }
    return some.map((record) => ({ narrow: record, whole: found.get(idOf.get(record) ?? NaN) }));
  };
}

/** The latest run of each task; `rows`: by their tasks. */
async function latestOf(rows: readonly JobRecord[], wholeOf: WholeOf): Promise<readonly JobRecord[]> {
  const again = (row: number): boolean => rows[row]?.task_id === rows[row + 1]?.task_id;
  const several = rows.filter((_, row) => (row + 1 < rows.length && again(row)) || (row > 0 && again(row - 1)));
  if (several.length === 0) return rows;
  const pairs = await wholeOf(several);
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

/** null: the store's records are needed. Rejects with StoreError. */
export async function readTasks(reader: AccountingReader, query: TasksQuery): Promise<TaskRows | null> {
  const { job_id, fields, more_than } = query;
  const table = (await reader.taskTable?.({ job_id, fields, rows: { more_than } })) ?? null;
  if (table === null) return null;
  const narrow = recordsIn(table, fields);
  const rows = [...narrow.values()];
  const wholeOf = wholeReader(reader, query, narrow);
  const records = await latestOf(rows, wholeOf);
  return {
    cluster: table.cluster,
    records,
    reruns: rows.length - records.length,
    whole: async (some) => (await wholeOf(some)).map((pair) => pair.whole ?? pair.narrow),
  };
}

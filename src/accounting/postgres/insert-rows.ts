import type { Cell, Dictionary } from '../columns';
import type { Transaction } from './connect';
import type { Words } from './words';

/** A column of a table, with its type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
  /** Its cells are as `Words.intern` returns them. */
  readonly dictionary?: Dictionary | undefined;
}

type Rows = readonly (readonly Cell[])[];

/** An element of an array of the database's. */
function element(cell: Cell): string {
  if (cell === null) return 'NULL';
  return typeof cell === 'number' ? String(cell) : `"${cell.replace(/["\\]/g, '\\$&')}"`;
}

function arrayOf(rows: Rows, at: number, dictionary: Dictionary | undefined, words: Words | undefined): string {
  let elements = '';
  for (const row of rows) {
    const cell = row[at] ?? null;
    const stored = words === undefined || dictionary === undefined ? cell : words.number(dictionary, cell);
    elements += elements === '' ? element(stored) : `,${element(stored)}`;
  }
  return `{${elements}}`;
}

/** What rows are in FROM, and its parameters; columns that are empty in all of them are left out. */
function arraysOf(columns: readonly TypedColumn[], rows: Rows, words: Words | undefined) {
  const filled = columns.flatMap((column, at) => (rows.some((row) => row[at] !== null) ? [{ ...column, at }] : []));
  return {
    names: filled.map(({ name }) => name),
    from: `unnest(${filled.map(({ type }, index) => `$${index + 1}::text::${type}[]`).join(', ')})`,
    values: filled.map(({ at, dictionary }) => arrayOf(rows, at, dictionary, words)),
  };
}

/**
 * Puts rows into a table in one statement; `same`: other columns, by name. Columns that are empty in all of them take no
 * room in it.
 */
export async function insertRows(
  db: Pick<Transaction, 'query'>,
  table: string,
  columns: readonly TypedColumn[],
  rows: Rows,
  { words, same = {} }: { readonly words?: Words; readonly same?: Readonly<Record<string, number>> } = {},
): Promise<void> {
  if (rows.length === 0) return;
  const { names, from, values } = arraysOf(columns, rows, words);
  // Not COPY: the client never sees an error that comes at its end.
  await db.query(
    `INSERT INTO qmemacct.${table} (${[...names, ...Object.keys(same)].join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${['u.*', ...Object.values(same)].join(', ')} FROM ${from} AS u`,
    values,
  );
}

/**
 * Writes columns of records in one statement, the first of them being the id; `same`: what is set in all of them. Columns
 * that are empty in all of them stay as they are.
 */
export async function updateRecords(
  db: Pick<Transaction, 'query'>,
  columns: readonly TypedColumn[],
  rows: Rows,
  { words, same }: { readonly words: Words; readonly same: string },
): Promise<void> {
  if (rows.length === 0) return;
  const { names, from, values } = arraysOf(columns, rows, words);
  const [id = '', ...others] = names;
  await db.query(
    `UPDATE qmemacct.record AS r SET ${[same, ...others.map((name) => `${name} = j.${name}`)].join(', ')}
     FROM ${from} AS j (${names.join(', ')}) WHERE r.id = j.${id}`,
    values,
  );
}

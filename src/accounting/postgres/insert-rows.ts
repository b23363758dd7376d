import type { Cell, Dictionary } from '../cell-codec';
import type { Transaction } from './connect';
import type { Words } from './words';

/** A column of a table, with its type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
  /** If set, the cells are what `Words.intern` returns. */
  readonly dictionary?: Dictionary | undefined;
}

type Rows = readonly (readonly Cell[])[];

/** A text as an element of a PostgreSQL array literal. */
const quoted = (text: string): string => `"${/["\\]/.test(text) ? text.replace(/["\\]/g, '\\$&') : text}"`;

function arrayOf(rows: Rows, at: number, dictionary: Dictionary | undefined, words: Words | undefined): string {
  const elements = new Array<string | number>(rows.length);
  for (const [index, row] of rows.entries()) {
    const cell = row[at] ?? null;
    const stored = words === undefined || dictionary === undefined ? cell : words.number(dictionary, cell);
    elements[index] = stored === null ? 'NULL' : typeof stored === 'number' ? stored : quoted(stored);
  }
  return `{${elements.join(',')}}`;
}

/** Rows as a FROM item with its parameters; columns that are empty in all rows are left out. */
function arraysOf(columns: readonly TypedColumn[], rows: Rows, words: Words | undefined) {
  const filled = columns.flatMap((column, at) => (rows.some((row) => row[at] !== null) ? [{ ...column, at }] : []));
  return {
    names: filled.map(({ name }) => name),
    from: `unnest(${filled.map(({ type }, index) => `$${index + 1}::text::${type}[]`).join(', ')})`,
    values: filled.map(({ at, dictionary }) => arrayOf(rows, at, dictionary, words)),
  };
}

/**
 * Inserts rows into a table in one statement; `same`: other columns, by name, with one value for all rows. Columns that
 * are empty in all rows are left out of the statement.
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
  // Not COPY: the client never sees an error that comes at the end of a COPY.
  await db.query(
    `INSERT INTO qmemacct.${table} (${[...names, ...Object.keys(same)].join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT ${['u.*', ...Object.values(same)].join(', ')} FROM ${from} AS u`,
    values,
  );
}

/**
 * Updates columns of records in one statement; the first column is the id; `same`: what is set in all records. Columns
 * that are empty in all rows stay as they are.
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

import type { Cell } from '../columns';
import type { Transaction } from './connect';
import { withoutNul } from './words';

/** A column of a table, with its type. */
export interface TypedColumn {
  readonly name: string;
  readonly type: string;
}

/** An element of an array of the database's. */
function element(cell: Cell): string {
  if (cell === null) return 'NULL';
  return typeof cell === 'number' ? String(cell) : `"${withoutNul(cell).replace(/["\\]/g, '\\$&')}"`;
}

/** Puts rows into a table in one statement. Columns that are empty in all of them take no room in it. */
export async function insertRows(
  db: Pick<Transaction, 'query'>,
  table: string,
  columns: readonly TypedColumn[],
  rows: readonly (readonly Cell[])[],
): Promise<void> {
  if (rows.length === 0) return;
  const filled = columns.flatMap((column, at) =>
    rows.some((row) => row[at] !== null) ? [{ ...column, cells: rows.map((row) => element(row[at] ?? null)) }] : [],
  );
  // Not COPY: the client never sees an error that comes at its end.
  await db.query(
    `INSERT INTO qmemacct.${table} (${filled.map(({ name }) => name).join(', ')}) OVERRIDING SYSTEM VALUE
     SELECT * FROM unnest(${filled.map(({ type }, index) => `$${index + 1}::text::${type}[]`).join(', ')})`,
    filled.map(({ cells }) => `{${cells.join(',')}}`),
  );
}

import type { JobRecord } from '../record/record';
import type { Cell, WordCodec } from './columns';
import { damageOf, NO_FIELDS, type RowPlan } from './row';

/** Rows of a store that stays open, as the columns of a plan. */
interface RowTable {
  readonly rows: number;
  /** A cell for every row; null: the column was left out. */
  readonly columns: readonly (readonly Cell[] | null)[];
  readonly words: WordCodec;
  readonly plan: RowPlan;
  /** An error of a row as that of its store. */
  readonly fault: (error: unknown) => unknown;
}

/**
 * Records of a table by the number of their row. A field is read when it is first asked for, of all rows at once: of
 * thousands of tasks most questions need a few fields, and those of each. A copy (`{ ...record }`) has no fields.
 */
function recordMaker(table: RowTable): new (row: number) => JobRecord {
  class OfRow {
    constructor(readonly row: number) {}
  }
  const fields = table.plan.fields.map(({ name }, index) => {
    let values: readonly unknown[] | null = null;
    const get = function (this: OfRow): unknown {
      values ??= valuesOf(table, index);
      return values[this.row];
    };
    return [name, { get }] as const;
  });
  Object.setPrototypeOf(OfRow.prototype, NO_FIELDS);
  Object.defineProperties(OfRow.prototype, Object.fromEntries(fields));
  return OfRow as unknown as new (row: number) => JobRecord;
}

/** A field of every row. */
function valuesOf({ rows, columns, words, plan, fault }: RowTable, index: number): readonly unknown[] {
  const field = plan.fields[index];
  const end = plan.fields[index + 1]?.at ?? plan.merged;
  if (field === undefined) return [];
  const { at, read } = field;
  const own = columns.slice(at, end);
  const cells: Cell[] = own.map(() => null);
  const values: unknown[] = [];
  try {
    for (let row = 0; row < rows; row++) {
      for (let column = 0; column < own.length; column++) cells[column] = own[column]?.[row] ?? null;
      values.push(read(cells, 0, words));
    }
  } catch (error) {
    throw fault(damageOf(error));
  }
  return values;
}

/** The records of a table, row by row. */
export function recordsOf(table: RowTable): readonly JobRecord[] {
  const OfRow = recordMaker(table);
  return Array.from({ length: table.rows }, (_, row) => new OfRow(row));
}

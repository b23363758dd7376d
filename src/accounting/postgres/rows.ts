import type { TableColumn } from '../../record/plain-columns';
import { ALL_FIELDS, fromRow, SERIES_CELLS, type RowPlan } from '../row';
import type { TablePlan } from '../table-plan';
import type { Cell, Column } from '../cell-codec';
import { OwnNumbers } from '../own-numbers';
import type { StoredRecord } from '../../record/merge';

const TYPES = { integer: 'bigint', real: 'double precision', text: 'text' } as const;

/** The type of a column of a record. */
export function columnType({ type, dictionary, small }: Pick<Column, 'type' | 'dictionary' | 'small'>): string {
  return dictionary !== undefined ? 'integer' : small === true ? 'smallint' : TYPES[type];
}

/** The name under which the views show the string of a column of dictionary numbers. */
export function textColumn(column: string): string {
  return column.replace(/_id$/, '');
}

/** Columns of `r`, a view of records: its series, or NULLs instead, then the columns of a plan with their strings. */
export function namedColumns(withSeries: boolean, { columns }: Pick<RowPlan, 'columns'> = ALL_FIELDS): string {
  const series = withSeries ? 'r.series_start, r.series_step_ms, r.series_points' : 'NULL, NULL, NULL';
  const names = columns.map(({ name, dictionary }) => `r.${dictionary === undefined ? name : textColumn(name)}`);
  return [series, ...names].join(', ');
}

type Rows = readonly (readonly Cell[])[];

/** Rows that have `namedColumns` from index `at` on, with numbers in place of strings. */
function numbered(rows: Rows, at: number, columns: readonly Column[], words: OwnNumbers): Rows {
  const named = columns.flatMap(({ dictionary }, index) =>
    dictionary === undefined ? [] : [{ dictionary, index: at + SERIES_CELLS + index }],
  );
  return rows.map((row) => {
    const cells = [...row];
    for (const { dictionary, index } of named) {
      const cell = cells[index];
      if (typeof cell === 'string') cells[index] = words.intern(dictionary, cell);
    }
    return cells;
  });
}

/** Records from rows that have `namedColumns` from index `at` on. */
export function readRows(rows: Rows, at: number, plan: RowPlan = ALL_FIELDS): readonly StoredRecord[] {
  const words = new OwnNumbers();
  return numbered(rows, at, plan.columns, words).map((cells) => fromRow(cells, at, words, plan));
}

/** Plain columns from rows that have `namedColumns`. */
export function readTable(rows: Rows, plan: TablePlan): readonly TableColumn[] {
  const words = new OwnNumbers();
  return plan.read(numbered(rows, 0, plan.columns, words), words);
}

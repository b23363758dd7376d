import type { ColumnFacts, TableColumn, TableValue } from '../record/plain-columns';

/** Some of the rows, and how much of all there is to read (records, ms ...) has been read with them. */
export interface RowPage {
  /** The values of each column. */
  readonly columns: readonly TableColumn[];
  readonly rows: number;
  readonly done: number;
  readonly of: number;
}

/** What can be exported: columns, and rows that are read page by page. */
export interface Table {
  readonly what: 'records' | 'series' | 'samples';
  readonly columns: readonly ColumnFacts[];
  readonly pages: AsyncIterable<RowPage>;
}

/** Values in the order of the columns. */
export type Row = readonly TableValue[];

/** Rows as their columns. */
export const columnsOfRows = (rows: readonly Row[], columns: readonly ColumnFacts[]): readonly TableColumn[] =>
  columns.map((_column, index) => rows.map((row) => row[index] ?? null));

import type { RowGroup } from 'hyparquet' with { 'resolution-mode': 'import' };
import type { ColumnFacts, TableColumn, TableValue } from '../record/plain-columns';
import type { FormatName } from './format';

/** The values of each column in some rows. */
export interface Columns {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
}

/** Rows as a thread has written them in some format. */
export interface Part {
  readonly rows: number;
  readonly bytes: Uint8Array;
  /** Of Parquet: where its columns are in these bytes. */
  readonly group?: RowGroup;
}

/** How much of all there is to read (records, ms ...) has been read with a page. */
interface Progress {
  readonly done: number;
  readonly of: number;
}

/** Some of the rows: by column, or as a part of the file. */
export type RowPage = Progress & (Columns | Part);

/** What can be exported: columns, and rows that are read page by page. */
export interface Table {
  readonly what: 'records' | 'series' | 'samples';
  readonly columns: readonly ColumnFacts[];
  /** `format`: of the parts, where some of the rows come as such. */
  readonly pages: (format: FormatName) => AsyncIterable<RowPage>;
}

/** Values in the order of the columns. */
export type Row = readonly TableValue[];

/** Rows as their columns. */
export const columnsOfRows = (rows: readonly Row[], columns: readonly ColumnFacts[]): readonly TableColumn[] =>
  columns.map((_column, index) => rows.map((row) => row[index] ?? null));

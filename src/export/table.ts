import type { RowGroup } from 'hyparquet' with { 'resolution-mode': 'import' };
import type { Shown } from '../accounting/store';
import type { ColumnFacts, TableColumn, TableValue } from '../record/plain-columns';
import type { FormatName } from './format';

/** The values of each column in some rows. */
export interface Columns {
  readonly columns: readonly TableColumn[];
  readonly rows: number;
}

/** Rows encoded by a thread. */
export interface Part {
  readonly rows: number;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** For Parquet: where the columns are in these bytes. */
  readonly group?: RowGroup;
}

/** How much has been read with a page, of how much in all (records, ms ...). */
interface Progress {
  readonly done: number;
  readonly of: number;
  /** What the site shows of others' jobs; left out: everything. */
  readonly shown?: Shown;
}

/** Some of the rows: by column, or encoded as a part of the file. */
export type RowPage = Progress & (Columns | Part);

/** A table that can be exported: columns, and rows that are read page by page. */
export interface Table {
  readonly what: 'records' | 'series' | 'samples';
  readonly columns: readonly ColumnFacts[];
  /** `format`: for pages that come as encoded parts. */
  readonly pages: (format: FormatName) => AsyncIterable<RowPage>;
}

/** The values of a row, in the order of the columns. */
export type Row = readonly TableValue[];

/** Turns rows into columns. */
export const columnsOfRows = (rows: readonly Row[], columns: readonly ColumnFacts[]): readonly TableColumn[] =>
  columns.map((_column, index) => rows.map((row) => row[index] ?? null));

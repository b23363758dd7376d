import type { ColumnFacts } from '../record/plain-columns';
import type { Row } from './format';

/** Some of the rows, and how much of all there is to read (records, ms ...) has been read with them. */
export interface RowPage {
  readonly rows: readonly Row[];
  readonly done: number;
  readonly of: number;
}

/** What can be exported: columns, and rows that are read page by page. */
export interface Table {
  readonly columns: readonly ColumnFacts[];
  readonly pages: AsyncIterable<RowPage>;
}

import type { ColumnFacts } from '../record/plain-columns';
import { escapeForCsv } from '../report/format/escape';
import { renderCsvRows } from '../report/records/csv';
import type { Encoder, RowFormat } from './format';
import { lineEncoder, lineFormat, type LineKind } from './lines';

const csvLines = (columns: readonly ColumnFacts[]): LineKind => ({
  columns: columns.map(({ type }, index) => ({ type, before: index === 0 ? '' : ',' })),
  end: '\n',
  how: { text: escapeForCsv, json: escapeForCsv, time: (iso) => iso, none: '' },
});

export const csvEncoder = (columns: readonly ColumnFacts[]): Encoder => lineEncoder(csvLines(columns));

/** A head and one line per row, safe for a spreadsheet. */
export const csvFormat = (columns: readonly ColumnFacts[]): RowFormat =>
  lineFormat(renderCsvRows([columns.map(({ name }) => name)]), csvLines(columns));

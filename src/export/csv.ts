import type { ColumnFacts } from '../record/plain-columns';
import { escapeForCsv } from '../report/format/escape';
import { renderCsvRows } from '../report/records/csv';
import type { RowFormat } from './format';
import { lineFormat } from './lines';

/** A head and one line per row, safe for a spreadsheet. */
export const csvFormat = (columns: readonly ColumnFacts[]): RowFormat =>
  lineFormat(
    renderCsvRows([columns.map(({ name }) => name)]),
    columns.map(({ type }, index) => ({ type, before: index === 0 ? '' : ',' })),
    '\n',
    { text: escapeForCsv, json: escapeForCsv, time: (iso) => iso, none: '' },
  );

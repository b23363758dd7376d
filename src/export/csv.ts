import type { ColumnFacts } from '../record/plain-columns';
import { escapeForCsv, escapeJson } from '../report/format/escape';
import { renderCsvRows } from '../report/records/csv';
import type { Encoder, RowFormat } from './format';
import { lineEncoder, lineFormat, type LineKind } from './lines';

/** An object or a list: no formula. Its escapes are those of JSON. */
function jsonCell(json: string): string {
  const safe = escapeJson(json);
  return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

const csvLines = (columns: readonly ColumnFacts[]): LineKind => ({
  columns: columns.map(({ type }, index) => ({ type, before: index === 0 ? '' : ',' })),
  end: '\n',
  how: { text: escapeForCsv, json: jsonCell, time: (iso) => iso, none: '' },
});

export const csvEncoder = (columns: readonly ColumnFacts[]): Encoder => lineEncoder(csvLines(columns));

/** A head and one line per row, safe for a spreadsheet. */
export const csvFormat = (columns: readonly ColumnFacts[]): RowFormat =>
  lineFormat(renderCsvRows([columns.map(({ name }) => name)]), csvLines(columns));

import type { ColumnFacts } from '../record/plain-columns';
import { escapeForCsv, escapeJson } from '../report/format/escape';
import { renderCsvRows } from '../report/records/csv';
import type { PartFormat } from './format';
import { lineFormat } from './lines';

/** A cell with a JSON object or list, which no spreadsheet takes for a formula; escaped as JSON. */
function jsonCell(json: string): string {
  const safe = escapeJson(json);
  return /[",;]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

/** A header line, then one line per row; safe to open in a spreadsheet. */
export const csvFormat = (columns: readonly ColumnFacts[]): PartFormat =>
  lineFormat({
    head: renderCsvRows([columns.map(({ name }) => name)]),
    columns: columns.map(({ type }, index) => ({ type, before: index === 0 ? '' : ',' })),
    end: '\n',
    how: { text: escapeForCsv, json: jsonCell, time: (iso) => iso, none: '' },
  });

import type { ColumnFacts, PlainValue } from '../record/plain-columns';
import { renderCsvRows, type Cell } from '../report/records/csv';
import type { RowFormat } from './format';

const cellOf = (value: PlainValue): Cell =>
  typeof value === 'object' && value !== null ? JSON.stringify(value) : value;

/** A head and one line per row, safe for a spreadsheet; objects as JSON. */
export function csvFormat(columns: readonly ColumnFacts[]): RowFormat {
  let head = renderCsvRows([columns.map(({ name }) => name)]);
  const taken = (): string => {
    const text = head;
    head = '';
    return text;
  };
  return { rows: (rows) => taken() + renderCsvRows(rows.map((row) => row.map(cellOf))), end: taken };
}

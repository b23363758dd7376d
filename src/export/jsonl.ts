import type { ColumnFacts } from '../record/plain-columns';
import { escapeJson } from '../report/format/escape';
import type { RowFormat } from './format';

/** One JSON object per line, every column in each. */
export function jsonLinesFormat(columns: readonly ColumnFacts[]): RowFormat {
  const keys = columns.map(({ name }, index) => `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`);
  const line = (row: readonly unknown[]): string =>
    `${keys.map((key, index) => `${key}${JSON.stringify(row[index] ?? null)}`).join('')}}\n`;
  return { rows: (rows) => escapeJson(rows.map(line).join('')), end: () => '' };
}

import type { ColumnFacts } from '../record/plain-columns';
import { escapeJson } from '../report/format/escape';
import type { Encoder, RowFormat } from './format';
import { lineEncoder, lineFormat, type LineKind } from './lines';

const jsonLines = (columns: readonly ColumnFacts[]): LineKind => ({
  columns: columns.map(({ name, type }, index) => ({
    type,
    before: `${index === 0 ? '{' : ','}${JSON.stringify(name)}:`,
  })),
  end: '}\n',
  how: {
    text: (value) => escapeJson(JSON.stringify(value)),
    json: escapeJson,
    time: (iso) => `"${iso}"`,
    none: 'null',
  },
});

export const jsonLinesEncoder = (columns: readonly ColumnFacts[]): Encoder => lineEncoder(jsonLines(columns));

/** One JSON object per line, every column in each. */
export const jsonLinesFormat = (columns: readonly ColumnFacts[]): RowFormat => lineFormat('', jsonLines(columns));

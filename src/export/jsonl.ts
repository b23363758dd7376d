import type { ColumnFacts } from '../record/plain-columns';
import { escapeJson } from '../report/format/escape';
import type { RowFormat } from './format';
import { lineFormat } from './lines';

/** One JSON object per line, every column in each. */
export const jsonLinesFormat = (columns: readonly ColumnFacts[]): RowFormat =>
  lineFormat(
    '',
    columns.map(({ name, type }, index) => ({ type, before: `${index === 0 ? '{' : ','}${JSON.stringify(name)}:` })),
    '}\n',
    {
      text: (value) => escapeJson(JSON.stringify(value)),
      json: escapeJson,
      time: (iso) => `"${iso}"`,
      none: 'null',
    },
  );

import type { ColumnFacts } from '../record/plain-columns';
import { escapeJson } from '../report/format/escape';
import type { PartFormat } from './format';
import { lineFormat } from './lines';

/** One JSON object per line, every column in each. */
export const jsonLinesFormat = (columns: readonly ColumnFacts[]): PartFormat =>
  lineFormat({
    head: '',
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

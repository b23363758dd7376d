import { FIELD_CODECS } from '../src/accounting/columns';
import { EFFICIENCY_HELP } from '../src/record/efficiency';
import { metricFacts } from '../src/cli/metric-facts';
import type { MetricHelp } from '../src/export/prometheus/metric';
import { nodeMetrics } from '../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../src/export/prometheus/server-metrics';
import type { MetricFacts } from '../src/report/series/metric-list';
import { settingHelp } from '../src/cli/install/settings-text';
import { FIELD_NAMES, FIELDS, type FieldName } from '../src/record/fields';
import { SETTING_NAMES, valueToml } from '../src/record/settings';
import { SETTINGS } from '../src/record/settings-table';
import { TOTALS, TOTALS_NAMES } from '../src/record/totals';

/** What docs/ says of the record, its sums and the settings, from the tables that the program itself is made from. */

const WIDTH = 100;

/** One item of a list, its further lines indented. */
function item(text: string): string {
  const lines: string[] = [];
  let line = '-';
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `  ${word}`;
    } else line = `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

const MERGED: Readonly<Record<string, string>> = {
  key: 'part of the key',
  own: 'of the account itself',
  rank: "the better data source's",
  final: "the ended job's, else the better data source's",
  each: 'entry by entry',
  status: 'with the notes',
};

function fieldItem(name: FieldName): string {
  const { help, merge, personal } = FIELDS[name];
  const columns = FIELD_CODECS.find((field) => field.name === name)?.codec.columns.map(
    (column) => `\`${column.name}\``,
  );
  const kept = columns === undefined || columns.length === 0 ? 'table `series`' : columns.join(', ');
  const hidden = personal ? ' Hidden from those who may not see whose job it is.' : '';
  return item(`\`${name}\`: ${help}. Merged: ${MERGED[merge] ?? merge}. SQLite: ${kept}.${hidden}`);
}

export function fieldReference(): string {
  return [
    '# Fields',
    '',
    'Made from `src/record/fields.ts` and `src/record/totals.ts` by `npm run generate`.',
    '',
    '## The record',
    '',
    "One job's account on one host, in `--json`, `/v1` and both stores. Sizes are bytes, durations",
    'seconds in JSON and ms in SQLite columns, times ISO 8601 in JSON and ms since the epoch in columns.',
    '',
    ...FIELD_NAMES.map(fieldItem),
    '',
    'JSON and CSV show beside these what follows from them:',
    '',
    ...Object.entries(EFFICIENCY_HELP).map(([name, help]) => item(`\`${name}\`: ${help}.`)),
    '',
    '## Sums',
    '',
    'Over records: a job on three hosts, or started three times, has three.',
    '',
    ...TOTALS_NAMES.map((name) => item(`\`${name}\`: ${TOTALS[name].help}`)),
    '',
  ].join('\n');
}

/** docs/settings.md */
export function settingsReference(): string {
  return [
    '# Settings',
    '',
    'Made from `src/record/settings-table.ts` by `npm run generate`.',
    '',
    '`/etc/qmemacct/qmemacct.toml`, on every host; every key may be left out.',
    '',
    ...SETTING_NAMES.map((key) => {
      const fallback = key === 'sources' ? '' : ` default \`${valueToml(SETTINGS[key].fallback)}\`.`;
      return item(`\`${key}\`:${fallback} ${settingHelp(key)}`);
    }),
    '',
  ].join('\n');
}

function exportedItem({ name, type, unit, labels, help }: MetricHelp): string {
  const by = labels.length === 0 ? '' : ` by ${labels.join(', ')}`;
  return item(`\`${name}\` (${[type, ...(unit === '' ? [] : [unit])].join(', ')}${by}): ${help}.`.replace('..', '.'));
}

function sourceItems(facts: readonly MetricFacts[]): readonly string[] {
  return facts.map(({ name, kind, unit, scope, instance, help }) => {
    const of = instance === null ? scope : `${scope}, by ${instance}`;
    return item(`\`${name}\` (${kind}, ${unit}, of ${of}): ${help}`);
  });
}

/** docs/metrics.md */
export function metricReference(): string {
  return [
    '# Metrics',
    '',
    'Made from `src/export/prometheus/` and from the sources of samples by `npm run generate`.',
    '',
    '## The server: /metrics',
    '',
    ...SERVER_METRICS.map(exportedItem),
    '',
    '## A node: qmemacct node --prometheus',
    '',
    ...nodeMetrics([]).map(exportedItem),
    '',
    'Beside these every metric of the node below, as `qmemacct_node_NAME`: counters end in `_total`, percent',
    'is a ratio, bits are bytes.',
    '',
    '## Sources',
    '',
    'What samplers read; names as in series, `qmemacct node` and `qmemacct job --series`.',
    '',
    ...sourceItems(metricFacts()),
    '',
  ].join('\n');
}

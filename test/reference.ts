import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { FIELD_CODECS } from '../src/accounting/columns';
import { VIEWS } from '../src/accounting/views';
import { packageRoot } from '../src/base/package-root';
import { metricFacts } from '../src/cli/metric-facts';
import type { MetricHelp } from '../src/export/prometheus/metric';
import { nodeMetrics } from '../src/export/prometheus/node-metrics';
import { SERVER_METRICS } from '../src/export/prometheus/server-metrics';
import type { MetricFacts } from '../src/report/series/metric-list';
import { settingHelp } from '../src/cli/install/settings-text';
import { SERIES_COLUMNS } from '../src/export/records';
import { SAMPLE_COLUMNS } from '../src/export/samples';
import { FIELD_NAMES, FIELDS, type FieldName } from '../src/record/fields';
import { PLAIN_COLUMNS, type ColumnFacts } from '../src/record/plain-columns';
import { SETTING_NAMES, valueToml } from '../src/record/settings';
import { SETTINGS } from '../src/record/settings-table';
import { TOTALS, TOTALS_NAMES } from '../src/record/totals';

/** Pages of docs/ on the record, its sums, the settings and metrics, made from the tables that the program uses. */

const WIDTH = 100;

export const QUESTIONS = join(packageRoot(), 'docs', 'sql');
export const questionFiles = (): readonly string[] => readdirSync(QUESTIONS).sort();

/** Text wrapped into lines, the first after `head`, the others after as many blanks. */
function wrapped(text: string, head = ''): string {
  const lines: string[] = [];
  let line = head;
  for (const word of text.split(' ')) {
    if (line.length + 1 + word.length > WIDTH) {
      lines.push(line);
      line = `${' '.repeat(head.length)}${word}`;
    } else line = line.trim() === '' || line === head ? `${line}${word}` : `${line} ${word}`;
  }
  return [...lines, line].join('\n');
}

/** One item of a list. */
const item = (text: string): string => wrapped(text, '- ');

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

type ColumnText = Pick<ColumnFacts, 'name' | 'help' | 'unit'>;

const columnItem = ({ name, unit, help }: ColumnText): string =>
  item(`\`${name}\`: ${help}${unit === null || help.includes(unit) ? '' : ` (${unit})`}.`);

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
    '## Columns',
    '',
    'A record as one row: in `--csv` and `qmemacct export records`. Times are ISO 8601, UTC. An export has',
    '`requests`, `metrics`, `granted_hosts` and `notes` as JSON, `--csv` as text; `--csv` has `attempt` and',
    'the columns `next_time_...` besides. JSON has the two efficiencies and the time in the queue, too,',
    'and `request` as an object.',
    '',
    ...PLAIN_COLUMNS.map(columnItem),
    '',
    '`qmemacct export series`: one row per step of the chart of a record.',
    '',
    ...SERIES_COLUMNS.map(columnItem),
    '',
    '`qmemacct export samples`: one row per value of a metric on this host.',
    '',
    ...SAMPLE_COLUMNS.map(columnItem),
    '',
    '## Views',
    '',
    'Both stores have them (PostgreSQL in the schema `qmemacct`, each role seeing its own); `docs/sql.md`',
    'has questions that they answer.',
    '',
    ...VIEWS.flatMap(({ name, help, columns }) => [
      `### \`${name}\``,
      '',
      wrapped(`${help.charAt(0).toUpperCase()}${help.slice(1)}.`),
      '',
      ...columns.map(columnItem),
      '',
    ]),
    '## Sums',
    '',
    'Over records: a job on three hosts, or started three times, has three.',
    '',
    ...TOTALS_NAMES.map((name) => item(`\`${name}\`: ${TOTALS[name].help}`)),
    '',
  ].join('\n');
}

/** A file of docs/sql: its first comment is the question, the others explain it. */
function questionText(file: string): readonly string[] {
  const lines = readFileSync(join(QUESTIONS, file), 'utf8').trimEnd().split('\n');
  const [question = '', ...comments] = lines.flatMap((line) => /^-- (.*)/.exec(line)?.[1] ?? []);
  return [
    `## ${question}`,
    '',
    ...(comments.length === 0 ? [] : [wrapped(comments.join(' ')), '']),
    '```sql',
    ...lines.filter((line) => !line.startsWith('--')),
    '```',
    '',
  ];
}

/** docs/sql.md */
export function questionReference(): string {
  const lines = [
    '# Questions in SQL',
    '',
    'Made from `docs/sql/*.sql` by `npm run generate`. They ask the views of both stores, whose columns',
    'are in `docs/fields.md`:',
    '',
    `    sqlite3 -readonly -box ${SETTINGS.accounting.fallback} < docs/sql/04-bad-hosts.sql`,
    "    PGOPTIONS='-c search_path=qmemacct' psql -f docs/sql/04-bad-hosts.sql DATABASE",
    '',
    'Sizes are bytes, times UTC (SQLite: text; PostgreSQL: with a time zone). `daily` has the days that',
    'the nightly job, or `qmemacct rollup`, has summed up: today mostly not. Jobs that run are in SQLite',
    'alone: in PostgreSQL they wait in its inbox, which only `qmemacct` reads.',
    '',
    ...questionFiles().flatMap(questionText),
  ];
  return lines.join('\n');
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
    '**After a change.** Commands, hooks and new samplers read the file when they start. A running',
    '`qmemacct serve` takes visibility, serve_names, serve_admins and serve_tokens from it within',
    'seconds; a file that it can not use changes nothing, and its log says so. All else it reads when it',
    'starts: `systemctl restart qmemacct-serve`, or send it SIGHUP, which ends it like SIGTERM: systemd',
    'or cron starts it anew. What other running parts need is said with the keys.',
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

import { renderCsvRows } from '../records/csv';
import type { Screen } from '../screen/screen';
import { renderTable } from '../screen/table';
import { wrap } from '../screen/layout';

/** What the code says of one metric. The field names are those of the JSON. */
export interface MetricFacts {
  readonly name: string;
  readonly unit: string;
  readonly kind: string;
  readonly scope: string;
  /** The label that distinguishes several values; null: one value only. */
  readonly instance: string | null;
  readonly source: string;
  readonly reads: readonly string[];
  /** Seconds between two readings unless the site says otherwise. */
  readonly interval: number;
  /** Read unless the site says otherwise. */
  readonly enabled: boolean;
  readonly help: string;
}

const COLUMNS = [
  'name',
  'unit',
  'kind',
  'scope',
  'instance',
  'source',
  'reads',
  'interval',
  'enabled',
  'help',
] as const;

const cell = (facts: MetricFacts, column: (typeof COLUMNS)[number]): string => {
  const value = facts[column];
  if (typeof value === 'string') return value;
  if (typeof value === 'boolean') return value ? 'on' : 'off';
  return value === null ? '' : typeof value === 'number' ? String(value) : value.join(' ');
};

/** Source by source: what it reads, how often, and its metrics with what they mean. */
export function renderMetricList(all: readonly MetricFacts[], screen: Screen): string[] {
  const sources = [...new Set(all.map(({ source }) => source))];
  return sources.flatMap((source, index) => {
    const own = all.filter((facts) => facts.source === source);
    const [first] = own;
    if (first === undefined) return [];
    const state = first.enabled ? `every ${first.interval} s` : `off (every ${first.interval} s when on)`;
    const table = renderTable(
      [{ head: '' }, { head: '' }, { head: '' }, { head: '' }, { head: '' }],
      own.map(({ name, unit, kind, scope, instance }) => [
        name,
        unit,
        kind,
        scope,
        instance === null ? '' : `per ${instance}`,
      ]),
      screen,
      screen.width - 2,
    );
    return [
      ...(index === 0 ? [] : ['']),
      `${screen.style.title(source)}  ${state}`,
      ...wrap(first.reads.join(', '), screen.width - 2).map((line) => screen.style.faint(`  ${line}`)),
      ...own.flatMap(({ help }, position) => [
        `  ${table[position] ?? ''}`,
        ...wrap(help, screen.width - 6).map((line) => screen.style.faint(`      ${line}`)),
      ]),
    ];
  });
}

/** One table, for documentation. */
export function renderMetricMarkdown(all: readonly MetricFacts[]): string {
  const row = (cells: readonly string[]): string => `| ${cells.join(' | ')} |\n`;
  const safe = (text: string): string => text.replaceAll('|', '\\|');
  const code = new Set<string>(['name', 'source', 'reads']);
  return [
    row(COLUMNS),
    row(COLUMNS.map(() => '---')),
    ...all.map((facts) =>
      row(
        COLUMNS.map((column) => {
          const text = safe(cell(facts, column));
          return code.has(column) && text !== '' ? `\`${text}\`` : text;
        }),
      ),
    ),
  ].join('');
}

export function renderMetricJson(all: readonly MetricFacts[]): string {
  const lines = all.map((facts) => JSON.stringify(facts));
  return `{"schema":1,"metrics":[${lines.length === 0 ? '' : `\n${lines.join(',\n')}\n`}]}\n`;
}

export function renderMetricCsv(all: readonly MetricFacts[]): string {
  return renderCsvRows([COLUMNS, ...all.map((facts) => COLUMNS.map((column) => cell(facts, column)))]);
}

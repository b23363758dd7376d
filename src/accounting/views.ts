import { PERS } from '../gridengine/memory-request';
import { FIELD_NAMES, FIELDS, type FieldName } from '../record/fields';
import { PRIVATE_CLUSTERS } from '../record/job-name';
import { PLAIN_COLUMNS, type ColumnFacts } from '../record/plain-columns';
import type { Column } from './cell-codec';
import { FIELD_CODECS } from './columns';
import { REQUEST_COLUMNS } from './row';
import type { SqlDialect } from './schema-text';
import { ACTIVE, KNOWN_SLOTS } from './sums/fact-columns';

/** The views that people and their tools read: their SQL and their description. */

export const choiceText = (column: string, words: readonly string[]): string =>
  `CASE ${column} ${words.map((word, index) => `WHEN ${index} THEN '${word}'`).join(' ')} END`;

/** The name under which the views show a column of `record`. */
function readableName({ name, dictionary }: Column): string {
  if (name === 'limit_bytes') return 'request_limit_bytes';
  return dictionary === undefined ? name.replace(/_ms$/, '_seconds') : name.replace(/_id$/, '');
}

/** A column of `r` as the views show it. */
function readable({ name, dictionary, choice }: Column, { word, time }: SqlDialect): string {
  if (dictionary !== undefined) return word(dictionary, `r.${name}`);
  if (choice !== undefined) return choiceText(`r.${name}`, choice);
  if (name.endsWith('_at')) return time(`r.${name}`);
  return name.endsWith('_ms') ? `r.${name} / 1000.0` : `r.${name}`;
}

const select = (columns: readonly (readonly [string, string])[]): string =>
  columns
    .map(([name, expression]) => (expression === `r.${name}` ? `  ${expression}` : `  ${expression} AS ${name}`))
    .join(',\n');

const of = (kinds: readonly string[], not = false): readonly FieldName[] =>
  FIELD_NAMES.filter((name) => kinds.includes(FIELDS[name].storage.as) !== not);

const PEAKS = of(['bracket']);

/** The formulas of record/efficiency.ts. */
const EFFICIENCIES: readonly (readonly [string, (dialect: SqlDialect) => string])[] = [
  ['cpu_efficiency', () => `CASE WHEN ${ACTIVE} > 0 THEN r.cpu_ms / nullif(${ACTIVE} * 1.0 * ${KNOWN_SLOTS}, 0) END`],
  ['memory_efficiency', () => 'r.peak_rss_lower_bytes * 1.0 / nullif(r.limit_bytes, 0)'],
  [
    'queue_wait_seconds',
    ({ word }) =>
      `CASE WHEN ${word('cluster', 'r.cluster_id')} IN (${PRIVATE_CLUSTERS.map((name) => `'${name}'`).join(', ')}) THEN NULL WHEN r.started_at >= r.submitted_at THEN (r.started_at - r.submitted_at) / 1000.0 WHEN r.started_at < r.submitted_at THEN 0 END`,
  ],
];

/** The columns of the view `jobs`; peaks, requests and metrics have views of their own. */
const JOB_COLUMNS: readonly Column[] = [
  ...of(['bracket', 'requests', 'metrics', 'notes', 'series', 'json'], true).flatMap(
    (name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns ?? [],
  ),
  ...REQUEST_COLUMNS,
];
const PEAK_ENDS = PEAKS.flatMap((name) => [`${name}_lower_bytes`, `${name}_upper_bytes`]);

export function jobsView(dialect: SqlDialect): readonly string[] {
  const columns = JOB_COLUMNS.map((column) => [readableName(column), readable(column, dialect)] as const);
  const efficiencies = EFFICIENCIES.map(([name, expression]) => [name, expression(dialect)] as const);
  const peaks = PEAK_ENDS.map((name) => [name, `r.${name}`] as const);
  return [
    'CREATE VIEW jobs AS SELECT',
    `  r.id AS record,\n${select([...columns, ...efficiencies, ...peaks])}`,
    `FROM ${dialect.source} r;`,
  ];
}

export function peaksView({ time, word, source }: SqlDialect): readonly string[] {
  const parts = PEAKS.map((name) =>
    [
      `SELECT r.id AS record, r.job_id, r.task_id, '${name.replace(/^peak_/, '')}' AS quantity,`,
      `  r.${name}_lower_bytes AS lower_bytes, r.${name}_upper_bytes AS upper_bytes, r.${name}_slack_bytes AS slack_bytes,`,
      `  ${time(`r.${name}_at`)} AS at, ${word('command', `r.${name}_command_id`)} AS command,`,
      `  ${word('bracket_basis', `r.${name}_basis_id`)} AS basis`,
      `FROM ${source} r WHERE r.${name}_lower_bytes IS NOT NULL`,
    ].join('\n'),
  );
  return ['CREATE VIEW peaks AS', `${parts.join('\nUNION ALL\n')};`];
}

export function requestsView({ source, requestSets, requestMember }: SqlDialect): readonly string[] {
  return [
    "CREATE VIEW requests AS SELECT r.id AS record, r.job_id, r.task_id, 'h_vmem' AS complex,",
    '  r.h_vmem_request_bytes AS request_bytes, r.h_vmem_limit_bytes AS limit_bytes,',
    `  ${choiceText('r.h_vmem_per', PERS)} AS per`,
    `FROM ${source} r WHERE r.h_vmem_per IS NOT NULL`,
    'UNION ALL SELECT r.id, r.job_id, r.task_id, asked.key,',
    `  ${requestMember('request_bytes', 'bigint')}, ${requestMember('limit_bytes', 'bigint')}, ${requestMember('per', 'text')}`,
    `FROM ${requestSets};`,
  ];
}

type ViewColumn = Pick<ColumnFacts, 'name' | 'unit' | 'help'>;

/** What docs/ says of a view. */
interface View {
  readonly name: string;
  readonly help: string;
  readonly columns: readonly ViewColumn[];
}

const plain = (name: string): ViewColumn =>
  PLAIN_COLUMNS.find((column) => column.name === name) ?? { name, unit: null, help: '' };

/** A member of a field; its help leaves out the field's own. */
const own = (member: string, field: FieldName): ViewColumn => {
  const { unit, help } = plain(`${field}_${member}`);
  return { name: member, unit, help: help.slice(`${FIELDS[field].help}: `.length) };
};

const RECORD = { name: 'record', unit: null, help: 'number of the record in this store: joins the views' };
const KEY: readonly ViewColumn[] = [RECORD, plain('job_id'), plain('task_id')];

export const VIEWS: readonly View[] = [
  {
    name: 'jobs',
    help: 'one row per record',
    columns: [
      RECORD,
      ...[...JOB_COLUMNS.map(readableName), ...EFFICIENCIES.map(([name]) => name), ...PEAK_ENDS].map(plain),
    ],
  },
  {
    name: 'peaks',
    help: 'one row per record and peak that is known',
    columns: [
      ...KEY,
      { name: 'quantity', unit: null, help: PEAKS.map((name) => name.replace(/^peak_/, '')).join(', ') },
      ...['lower_bytes', 'upper_bytes', 'slack_bytes', 'at', 'command'].map((name) => own(name, 'peak_rss')),
      { name: 'basis', unit: null, help: 'what the bounds rest on, and why the upper one may be open (JSON)' },
    ],
  },
  {
    name: 'requests',
    help: 'one row per record and memory request or limit, h_vmem among them',
    columns: [
      ...KEY,
      { name: 'complex', unit: null, help: 'name of the complex' },
      ...['request_bytes', 'limit_bytes', 'per'].map((name) => own(name, 'h_vmem')),
    ],
  },
  {
    name: 'metrics',
    help: 'one row per record and metric of the whole job',
    columns: [
      ...KEY,
      { name: 'metric', unit: null, help: 'name of the metric (qmemacct metrics)' },
      { name: 'value', unit: null, help: 'in the unit of the metric' },
    ],
  },
  {
    name: 'daily',
    help: 'sums of a UTC day, one row per cluster and owner, project ...; a day whose records changed since is left out until it is summed up again (qmemacct rollup); its other columns are the sums below',
    columns: [
      { name: 'day', unit: null, help: 'UTC day' },
      { name: 'cluster', unit: null, help: 'name of the cluster' },
      { name: 'dimension', unit: null, help: 'cluster (as a whole), owner, project, queue, host or job_name' },
      { name: 'key', unit: null, help: 'which owner, project ...; null: none' },
    ],
  },
];

import { FIELD_NAMES, FIELDS, STATUSES, TRUSTS, type FieldName } from '../record/fields';
import { FIELD_CODECS, type Column } from './columns';
import { DIMENSIONS } from './summary';
import { TOTALS, TOTALS_NAMES } from '../record/totals';
import { dictionaryOf } from './sums/roll-up';
import { DICTIONARIES } from './sqlite/database/dictionary';
import { COLUMNS } from './row';

/** The parts of sql/accounting/sqlite that are made from the table of fields. */

const MUST: ReadonlySet<string> = new Set(
  FIELD_NAMES.filter((name) => FIELDS[name].empty !== null).flatMap(
    (name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns.map((column) => column.name) ?? [],
  ),
);
/** Of the columns of such fields, those that hold nothing where the field is empty. */
const MAY_BE_EMPTY = new Set(['requests_id', 'metric_set_id', 'metric_values', 'notes_id', 'note_numbers']);

function dictionaries(): readonly string[] {
  return DICTIONARIES.map((name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);`);
}

function recordTable(): readonly string[] {
  const lines = COLUMNS.map(({ name, type, help }) => {
    const must = MUST.has(name) && !MAY_BE_EMPTY.has(name) ? ' NOT NULL' : '';
    return `  ${name} ${type.toUpperCase()}${must}, -- ${help}`;
  });
  return [
    'CREATE TABLE record (',
    '  id INTEGER PRIMARY KEY,',
    ...lines,
    '  -- Where a job counts in time: where it ended; a running one where it was last heard of.',
    '  counted_at INTEGER AS (coalesce(ended_at, iif(status = 1, revision, coalesce(started_at, submitted_at, revision)))) VIRTUAL',
    ');',
  ];
}

function rollUpTable(): readonly string[] {
  return [
    'CREATE TABLE rollup (',
    '  unit INTEGER NOT NULL, -- 0 day, 1 month, 2 year',
    '  day INTEGER NOT NULL, -- the first UTC day of it, since 1970',
    '  dimension INTEGER NOT NULL, -- 0 all of a cluster, 1 owner, 2 project, 3 queue, 4 host, 5 name class',
    '  key INTEGER NOT NULL, -- in the dictionary of the dimension; 0: records without one',
    '  cluster_id INTEGER NOT NULL,',
    ...TOTALS_NAMES.map(
      (name) => `  ${name} ${TOTALS[name].whole ? 'INTEGER' : 'REAL'} NOT NULL, -- ${TOTALS[name].help}`,
    ),
    '  PRIMARY KEY (unit, day, dimension, key, cluster_id)',
    ') WITHOUT ROWID;',
  ];
}

const choiceText = (column: string, words: readonly string[]): string =>
  `CASE ${column} ${words.map((word, index) => `WHEN ${index} THEN '${word}'`).join(' ')} END`;
const wordText = (dictionary: string, id: string): string => `(SELECT name FROM ${dictionary} WHERE id = ${id})`;
const timeText = (column: string): string => `strftime('%Y-%m-%d %H:%M:%f', ${column} / 1000.0, 'unixepoch')`;

/** A column of `record r` as people read it: its name and its expression. */
function readable({ name, dictionary }: Column): readonly [string, string] {
  if (dictionary !== undefined) return [name.replace(/_id$/, ''), wordText(dictionary, `r.${name}`)];
  if (name === 'status') return [name, choiceText('r.status', STATUSES)];
  if (name === 'trust') return [name, choiceText('r.trust', TRUSTS)];
  if (name.endsWith('_per')) return [name, choiceText(`r.${name}`, ['slot', 'job'])];
  if (name === 'sampler_mode') return [name, choiceText(`r.${name}`, ['full', 'small'])];
  if (name.endsWith('_at')) return [name, timeText(`r.${name}`)];
  if (name.endsWith('_ms')) return [name.replace(/_ms$/, '_seconds'), `r.${name} / 1000.0`];
  return [name, `r.${name}`];
}

const select = (columns: readonly (readonly [string, string])[]): string =>
  columns
    .map(([name, expression]) => (expression === `r.${name}` ? `  ${expression}` : `  ${expression} AS ${name}`))
    .join(',\n');

const of = (kinds: readonly string[], not = false): readonly FieldName[] =>
  FIELD_NAMES.filter((name) => kinds.includes(FIELDS[name].storage.as) !== not);

/** As `cpuEfficiency` and `memoryEfficiency` say. */
const EFFICIENCIES: readonly (readonly [string, string])[] = [
  ['cpu_efficiency', 'r.cpu_ms * 1.0 / nullif(r.wallclock_ms * r.host_slots, 0)'],
  ['memory_efficiency', 'r.peak_rss_lower_bytes * 1.0 / nullif(r.h_vmem_limit_bytes, 0)'],
];

/** One row a record, without what has a view of its own. */
function jobsView(): readonly string[] {
  const plain = of(['bracket', 'metrics', 'notes', 'series', 'json'], true);
  const columns = plain.flatMap((name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns ?? []);
  const peaks = of(['bracket']).flatMap((name): (readonly [string, string])[] =>
    ['lower_bytes', 'upper_bytes'].map((end) => [`${name}_${end}`, `r.${name}_${end}`]),
  );
  return [
    'CREATE VIEW jobs AS SELECT',
    `  r.id AS record,\n${select([...columns.map(readable), ...EFFICIENCIES, ...peaks])}`,
    'FROM record r;',
  ];
}

/** One row a peak. */
function peaksView(): readonly string[] {
  const parts = of(['bracket']).map((name) =>
    [
      `SELECT r.id AS record, r.job_id, r.task_id, '${name.replace(/^peak_/, '')}' AS quantity,`,
      `  r.${name}_lower_bytes AS lower_bytes, r.${name}_upper_bytes AS upper_bytes, r.${name}_slack_bytes AS slack_bytes,`,
      `  ${timeText(`r.${name}_at`)} AS at, ${wordText('command', `r.${name}_command_id`)} AS command,`,
      `  ${wordText('bracket_basis', `r.${name}_basis_id`)} AS basis`,
      `FROM record r WHERE r.${name}_lower_bytes IS NOT NULL`,
    ].join('\n'),
  );
  return ['CREATE VIEW peaks AS', `${parts.join('\nUNION ALL\n')};`];
}

function metricsView(): readonly string[] {
  return [
    'CREATE VIEW metrics AS SELECT r.id AS record, r.job_id, r.task_id, names.value AS metric,',
    '  json_extract(r.metric_values, names.fullkey) AS value',
    'FROM record r JOIN metric_set m ON m.id = r.metric_set_id, json_each(m.name) AS names;',
  ];
}

/** One row a day and owner, project, queue, host or class of names; dimension `cluster`: all of a cluster. */
function dailyView(): readonly string[] {
  const keys = DIMENSIONS.map((name, index) => `WHEN ${index + 1} THEN ${wordText(dictionaryOf(name), 'u.key')}`);
  return [
    'CREATE VIEW daily AS SELECT',
    "  date(u.day * 86400, 'unixepoch') AS day,",
    `  ${wordText('cluster', 'u.cluster_id')} AS cluster,`,
    `  ${choiceText('u.dimension', ['cluster', ...DIMENSIONS])} AS dimension,`,
    `  CASE u.dimension ${keys.join(' ')} END AS key,`,
    `  ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')}`,
    'FROM rollup u WHERE u.unit = 0 AND u.day NOT IN (SELECT day FROM stale_day);',
  ];
}

const PARTS: Readonly<Record<string, () => readonly string[]>> = {
  dictionaries,
  record: recordTable,
  rollup: rollUpTable,
  views: () => [...jobsView(), ...peaksView(), ...metricsView(), ...dailyView()],
};

/** `sql` with its generated parts as the table of fields has them now. */
export function withGenerated(sql: string): string {
  return sql.replace(
    /^(-- generated: (\w+)\n)[^]*?(^-- end of generated$)/gm,
    (_all, head: string, name: string, end: string) => `${head}${(PARTS[name]?.() ?? []).join('\n')}\n${end}`,
  );
}

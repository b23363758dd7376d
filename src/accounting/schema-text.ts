import { FIELD_NAMES, FIELDS, STATUSES, TRUSTS, WORD_LISTS, type FieldName } from '../record/fields';
import { TOTALS, TOTALS_NAMES } from '../record/totals';
import { FIELD_CODECS, type Column, type Dictionary } from './columns';
import { COLUMNS, REQUEST_COLUMNS } from './row';
import { DIMENSIONS } from './summary';
import { dictionaryOf } from './sums/roll-up';

/** The parts of sql/accounting that are made from the tables of fields and of sums, for one kind of database. */

/** Tables of repeated strings. */
const DICTIONARIES: readonly Dictionary[] = [
  ...WORD_LISTS,
  'bracket_basis',
  'requests',
  'metric_set',
  'notes',
  'provenance',
  'name_class',
];

/** How a kind of database writes what all have. */
export interface Dialect {
  readonly dictionary: (name: Dictionary) => string;
  readonly type: (column: Column) => string;
  /** Before the columns of a record. */
  readonly id: string;
  /** An expression as a column of its own. */
  readonly computed: (name: string, type: string, expression: string) => string;
  readonly real: string;
  readonly integer: string;
  /** A column of ms since the epoch as people read it. */
  readonly time: (column: string) => string;
  /** The string of a column of numbers in a dictionary. */
  readonly word: (dictionary: Dictionary, column: string) => string;
  /** What the views are made of. */
  readonly source: string;
  readonly metricsView: readonly string[];
  readonly parts: Readonly<Record<string, () => readonly string[]>>;
}

const MUST: ReadonlySet<string> = new Set(
  FIELD_NAMES.filter((name) => FIELDS[name].empty !== null).flatMap(
    (name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns.map((column) => column.name) ?? [],
  ),
);
/** Of the columns of such fields, those that hold nothing where the field is empty. */
const MAY_BE_EMPTY = new Set(['requests_id', 'metric_set_id', 'metric_values', 'notes_id', 'note_numbers']);

/** Columns in the order in which they take the least room: PostgreSQL aligns each to its size. */
const WIDTHS = ['BIGINT', 'DOUBLE PRECISION', 'INTEGER', 'SMALLINT'];

function recordTable({ id, type, computed, integer }: Dialect): readonly string[] {
  const width = (column: Column): number => (WIDTHS.indexOf(type(column).toUpperCase()) + 5) % 5;
  const isWide = type({ name: '', type: 'integer', help: '' }) === 'bigint';
  const columns = isWide ? COLUMNS.toSorted((a, b) => width(a) - width(b)) : COLUMNS;
  const countedAt = computed(
    'counted_at',
    integer,
    'coalesce(ended_at, CASE WHEN status = 1 THEN revision ELSE coalesce(started_at, submitted_at, revision) END)',
  );
  return [
    'CREATE TABLE record (',
    `  ${id},`,
    '  -- Where a job counts in time: where it ended; a running one where it was last heard of.',
    `  ${countedAt},`,
    ...columns.map((column, index) => {
      const must = MUST.has(column.name) && !MAY_BE_EMPTY.has(column.name) ? ' NOT NULL' : '';
      return `  ${column.name} ${type(column)}${must}${index < columns.length - 1 ? ',' : ''} -- ${column.help}`;
    }),
    ');',
  ];
}

/** The columns of sums, as a table of them has them. */
export function totalsColumns({ integer, real }: Dialect): readonly string[] {
  return TOTALS_NAMES.map(
    (name) => `  ${name} ${TOTALS[name].whole ? integer : real} NOT NULL, -- ${TOTALS[name].help}`,
  );
}

const choiceText = (column: string, words: readonly string[]): string =>
  `CASE ${column} ${words.map((word, index) => `WHEN ${index} THEN '${word}'`).join(' ')} END`;

/** A column of `r` as people read it: its name and its expression. */
function readable({ name, dictionary }: Column, { word, time }: Dialect): readonly [string, string] {
  if (dictionary !== undefined) return [name.replace(/_id$/, ''), word(dictionary, `r.${name}`)];
  if (name === 'status') return [name, choiceText('r.status', STATUSES)];
  if (name === 'trust') return [name, choiceText('r.trust', TRUSTS)];
  if (name.endsWith('_per')) return [name, choiceText(`r.${name}`, ['slot', 'job'])];
  if (name === 'sampler_mode') return [name, choiceText(`r.${name}`, ['full', 'small'])];
  if (name.endsWith('_at')) return [name, time(`r.${name}`)];
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
  ['memory_efficiency', 'r.peak_rss_lower_bytes * 1.0 / nullif(r.limit_bytes, 0)'],
];

/** One row a record, without what has a view of its own. */
function jobsView(dialect: Dialect): readonly string[] {
  const plain = of(['bracket', 'metrics', 'notes', 'series', 'json'], true);
  const columns = [
    ...plain.flatMap((name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns ?? []),
    ...REQUEST_COLUMNS,
  ];
  const peaks = of(['bracket']).flatMap((name): (readonly [string, string])[] =>
    ['lower_bytes', 'upper_bytes'].map((end) => [`${name}_${end}`, `r.${name}_${end}`]),
  );
  return [
    'CREATE VIEW jobs AS SELECT',
    `  r.id AS record,\n${select([...columns.map((column) => readable(column, dialect)), ...EFFICIENCIES, ...peaks])}`,
    `FROM ${dialect.source} r;`,
  ];
}

/** One row a peak. */
function peaksView({ time, word, source }: Dialect): readonly string[] {
  const parts = of(['bracket']).map((name) =>
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

/** `sql` with its generated parts as the tables have them now. */
export function withGenerated(sql: string, dialect: Dialect): string {
  const parts: Dialect['parts'] = {
    dictionaries: () => DICTIONARIES.map(dialect.dictionary),
    record: () => recordTable(dialect),
    views: () => [...jobsView(dialect), ...peaksView(dialect), ...dialect.metricsView],
    ...dialect.parts,
  };
  return sql.replace(
    /^(-- generated: (\w+)\n)[^]*?(^-- end of generated$)/gm,
    (_all, head: string, name: string, end: string) => `${head}${(parts[name]?.() ?? []).join('\n')}\n${end}`,
  );
}

/** By dimension of a roll-up's row `u`: what it is called, and the string of its key. */
export function rolledKey(word: (dictionary: Dictionary, column: string) => string): readonly string[] {
  const keys = DIMENSIONS.map((name, index) => `WHEN ${index + 1} THEN ${word(dictionaryOf(name), 'u.key')}`);
  return [
    `  ${choiceText('u.dimension', ['cluster', ...DIMENSIONS])} AS dimension,`,
    `  CASE u.dimension ${keys.join(' ')} END AS key,`,
  ];
}

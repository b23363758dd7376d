import { FIELD_NAMES, FIELDS, WORD_LISTS } from '../record/fields';
import { TOTALS, TOTALS_NAMES } from '../record/totals';
import type { Column, Dictionary } from './cell-codec';
import { FIELD_CODECS } from './columns';
import { COLUMNS } from './row';
import { DIMENSIONS } from './summary';
import { dictionaryOf, GROUPING_SETS } from './sums/grouping-sets';
import { choiceText, jobsView, peaksView, requestsView } from './views';

/** The parts of sql/accounting that are made from the tables of fields and of sums, for one kind of database. */

/** Tables of repeated strings. */
const DICTIONARIES: readonly Dictionary[] = [
  ...WORD_LISTS,
  'bracket_basis',
  'request_set',
  'metric_set',
  'notes',
  'provenance',
];

/** How one kind of database writes what both kinds have. */
export interface SqlDialect {
  readonly dictionary: (name: Dictionary) => string;
  readonly type: (column: Column) => string;
  /** Before the columns of a record. */
  readonly id: string;
  /** The column `counted_at`, computed by an expression. */
  readonly countedAt: (expression: string) => string;
  readonly real: string;
  readonly integer: string;
  /** A column of ms since the epoch as a readable time. */
  readonly time: (column: string) => string;
  /** The string that a column of dictionary numbers stands for. */
  readonly word: (dictionary: Dictionary, column: string) => string;
  /** The table or view that the views select from. */
  readonly source: string;
  readonly metricsView: readonly string[];
  /** What follows FROM: records `r`, each request but h_vmem as `asked`; `requestMember`: a member of `asked`. */
  readonly requestSets: string;
  readonly requestMember: (name: string, type: 'bigint' | 'text') => string;
  /** Of a roll-up's row `u`: the columns `day` and `cluster`, and the string of its key. */
  readonly daily: Readonly<Record<'day' | 'cluster', string>> & { readonly key: (dictionary: Dictionary) => string };
  readonly parts: Readonly<Record<string, () => readonly string[]>>;
}

const MUST: ReadonlySet<string> = new Set(
  FIELD_NAMES.filter((name) => FIELDS[name].empty !== null).flatMap(
    (name) => FIELD_CODECS.find((field) => field.name === name)?.codec.columns.map((column) => column.name) ?? [],
  ),
);
/** Columns of these fields that are NULL if the field is empty. */
const MAY_BE_EMPTY = new Set(['request_set_id', 'metric_set_id', 'metric_values', 'notes_id', 'note_numbers']);

/** Column types in the order in which columns take the least space: PostgreSQL aligns each to its size. */
const WIDTHS = ['BIGINT', 'DOUBLE PRECISION', 'INTEGER', 'SMALLINT'];

/** Where a record counts in time, as `countedAt` (facts.ts). */
const COUNTED_AT =
  'coalesce(ended_at, CASE WHEN status = 1 THEN revision ELSE coalesce(started_at, submitted_at, revision) END)';

function recordTable({ id, type, countedAt, integer }: SqlDialect): readonly string[] {
  const width = (column: Column): number => (WIDTHS.indexOf(type(column).toUpperCase()) + 5) % 5;
  const columns = integer === 'bigint' ? COLUMNS.toSorted((a, b) => width(a) - width(b)) : COLUMNS;
  return [
    'CREATE TABLE record (',
    `  ${id},`,
    '  -- Where a job counts in time: where it ended; a running one at its last heartbeat.',
    `  ${countedAt(COUNTED_AT)},`,
    ...columns.map((column, index) => {
      const must = MUST.has(column.name) && !MAY_BE_EMPTY.has(column.name) ? ' NOT NULL' : '';
      return `  ${column.name} ${type(column)}${must}${index < columns.length - 1 ? ',' : ''} -- ${column.help}`;
    }),
    ');',
  ];
}

/** The columns of a table of sums. */
export function totalsColumns({ integer, real }: SqlDialect): readonly string[] {
  return TOTALS_NAMES.map(
    (name) => `  ${name} ${TOTALS[name].whole ? integer : real} NOT NULL, -- ${TOTALS[name].help}`,
  );
}

/** The roll-ups of days, as far as they are up to date, of all of a cluster and of each dimension. */
function dailyView({ daily: { day, cluster, key } }: SqlDialect): readonly string[] {
  const keys = DIMENSIONS.map((name, index) => `WHEN ${index + 1} THEN ${key(dictionaryOf(name))}`);
  return [
    'CREATE VIEW daily AS SELECT',
    `  ${day},`,
    `  ${cluster},`,
    `  ${choiceText('u.dimension', ['cluster', ...DIMENSIONS])} AS dimension,`,
    `  CASE u.dimension ${keys.join(' ')} END AS key,`,
    `  ${TOTALS_NAMES.map((name) => `u.${name}`).join(', ')}`,
    `FROM rollup u WHERE u.unit = 0 AND u.dimension <= ${DIMENSIONS.length} AND u.day NOT IN (SELECT day FROM stale_day);`,
  ];
}

/** `sql` with its generated parts made anew from the tables of fields and sums. */
export function withGenerated(sql: string, dialect: SqlDialect): string {
  const parts: SqlDialect['parts'] = {
    dictionaries: () => DICTIONARIES.map(dialect.dictionary),
    record: () => recordTable(dialect),
    views: () => [...jobsView(dialect), ...peaksView(dialect), ...requestsView(dialect), ...dialect.metricsView],
    daily: () => dailyView(dialect),
    ...dialect.parts,
  };
  return sql.replace(
    /^(-- generated: (\w+)\n)[^]*?(^-- end of generated$)/gm,
    (_all, head: string, name: string, end: string) => `${head}${(parts[name]?.() ?? []).join('\n')}\n${end}`,
  );
}

/** What the numbers of roll-ups' dimensions stand for. */
export const GROUPING_SET_NAMES = GROUPING_SETS.map(
  (set, number) => `${number} ${set.join("'s ").replaceAll('job_name', 'name class') || 'all of a cluster'}`,
).join(', ');

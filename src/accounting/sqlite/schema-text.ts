import { GROUPING_SET_NAMES, totalsColumns, withGenerated, type SqlDialect } from '../schema-text';

/** The generated parts of sql/accounting/sqlite. */

const word: SqlDialect['word'] = (dictionary, column) => `(SELECT name FROM ${dictionary} WHERE id = ${column})`;

function rollUpTable(): readonly string[] {
  return [
    ...(['name_class', 'rollup_key'] as const).map(SQLITE.dictionary),
    'CREATE TABLE rollup (',
    '  unit INTEGER NOT NULL, -- 0 day, 1 month, 2 year',
    '  day INTEGER NOT NULL, -- its first UTC day, since 1970',
    `  dimension INTEGER NOT NULL, -- ${GROUPING_SET_NAMES}`,
    '  key INTEGER NOT NULL, -- in the dictionary of the dimension; of several in rollup_key; 0: records without one',
    '  cluster_id INTEGER NOT NULL,',
    ...totalsColumns(SQLITE),
    '  PRIMARY KEY (unit, day, dimension, key, cluster_id)',
    ') WITHOUT ROWID;',
  ];
}

const SQLITE: SqlDialect = {
  dictionary: (name) => `CREATE TABLE ${name} (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);`,
  type: ({ type, mostlyInteger = false }) => (mostlyInteger ? 'INTEGER' : type.toUpperCase()),
  // AUTOINCREMENT never gives an id twice, on which the feed of records relies.
  id: 'id INTEGER PRIMARY KEY AUTOINCREMENT',
  countedAt: (expression) => `counted_at INTEGER AS (${expression}) VIRTUAL`,
  integer: 'INTEGER',
  real: 'REAL',
  time: (column) => `strftime('%Y-%m-%d %H:%M:%f', ${column} / 1000.0, 'unixepoch')`,
  word,
  source: 'record',
  metricsView: [
    'CREATE VIEW metrics AS SELECT r.id AS record, r.job_id, r.task_id, names.value AS metric,',
    '  json_extract(r.metric_values, names.fullkey) AS value',
    'FROM record r JOIN metric_set m ON m.id = r.metric_set_id, json_each(m.name) AS names;',
  ],
  requestSets: 'record r JOIN request_set s ON s.id = r.request_set_id, json_each(s.name) AS asked',
  requestMember: (name) => `json_extract(asked.value, '$.${name}')`,
  daily: {
    day: "date(u.day * 86400, 'unixepoch') AS day",
    cluster: `${word('cluster', 'u.cluster_id')} AS cluster`,
    key: (dictionary) => word(dictionary, 'u.key'),
  },
  parts: { rollup: rollUpTable },
};

export const sqliteSchema = (sql: string): string => withGenerated(sql, SQLITE);

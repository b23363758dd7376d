import { MEMBER_DAYS } from '../../record/membership';
import { COLUMNS } from '../row';
import { type SqlDialect, GROUPING_SET_NAMES, totalsColumns, withGenerated } from '../schema-text';
import { columnType, textColumn } from './rows';

/** The generated parts of sql/accounting/postgres. */

/** The view of `record` with its strings and its series, on which all readers' views are built. */
function namedView(): readonly string[] {
  const texts = COLUMNS.flatMap(({ name, dictionary }) =>
    dictionary === undefined
      ? []
      : [`  (SELECT d.name FROM ${dictionary} d WHERE d.id = r.${name}) AS ${textColumn(name)}`],
  );
  return [
    'CREATE VIEW named_record AS SELECT r.*,',
    [...texts, '  s.start AS series_start', '  s.step_ms AS series_step_ms', '  s.points AS series_points'].join(',\n'),
    'FROM record r LEFT JOIN series s ON s.record_id = r.id;',
  ];
}

const OWNER = '(SELECT o.id FROM owner o WHERE o.name = session_user::text)';
const isMember = (role: string): string => `(SELECT pg_has_role(session_user, '${role}', 'MEMBER'))`;

/** What a role sees: members of qmemacct_read all, of qmemacct_project their projects' records, others their own. */
function visibleViews(): readonly string[] {
  const projects = `SELECT m.project_id FROM record m WHERE m.owner_id = ${OWNER} AND m.in_project = 1
      AND m.counted_at >= (extract(epoch FROM now()) - ${MEMBER_DAYS} * 86400) * 1000`;
  const all = `${isMember('qmemacct_read')} OR ${isMember('qmemacct_owner')}`;
  return [
    'CREATE VIEW own_record WITH (security_barrier) AS SELECT r.* FROM named_record r',
    `  WHERE r.owner_id = ${OWNER};`,
    'CREATE VIEW visible_record WITH (security_barrier) AS SELECT r.* FROM named_record r',
    `  WHERE ${all} OR r.owner_id = ${OWNER}`,
    `    OR ${isMember('qmemacct_project')} AND r.project_id IN (${projects});`,
    'CREATE VIEW visible_inbox WITH (security_barrier) AS SELECT i.* FROM inbox i',
    `  WHERE ${all} OR i.owner = session_user::text`,
    `    OR ${isMember('qmemacct_project')} AND i.project IN (SELECT p.name FROM project p WHERE p.id IN (${projects}));`,
  ];
}

function rollUpTable(): readonly string[] {
  return [
    'CREATE TABLE rollup (',
    '  unit smallint NOT NULL, -- 0 day, 1 month, 2 year',
    '  day integer NOT NULL, -- its first UTC day, since 1970',
    `  dimension smallint NOT NULL, -- ${GROUPING_SET_NAMES}`,
    '  cluster text COLLATE "C" NOT NULL,',
    '  key text COLLATE "C" NOT NULL, -- the owner, project ...; of several a line each; \'\': none',
    ...totalsColumns(POSTGRES),
    '  hours text, -- JSON: 24 requested GiB h, 24 used GiB h, 24 slot hours, by UTC hour of the day; NULL: zeros',
    '  shares text, -- JSON: ended records by peak over limit in steps of 5 %, the last at the limit or above',
    '  coverage text, -- JSON: ended records by why they have no samples',
    '  PRIMARY KEY (dimension, key, unit, day, cluster)',
    ');',
  ];
}

const POSTGRES: SqlDialect = {
  // The index is on the digest, since long texts do not fit into one.
  dictionary: (name) =>
    `CREATE TABLE ${name} (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON ${name} (md5(name));`,
  type: (column) => (column.type === 'text' ? 'text COLLATE "C"' : columnType(column)),
  id: 'id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY',
  countedAt: (expression) => `counted_at bigint NOT NULL GENERATED ALWAYS AS (${expression}) STORED`,
  integer: 'bigint',
  real: 'double precision',
  time: (column) => `to_timestamp(${column} / 1000.0)`,
  word: (_dictionary, column) => textColumn(column),
  source: 'visible_record',
  metricsView: [
    'CREATE VIEW metrics AS SELECT r.id AS record, r.job_id, r.task_id, names.metric,',
    '  (r.metric_values::json ->> (names.at::integer - 1))::double precision AS value',
    'FROM visible_record r, json_array_elements_text(r.metric_set::json) WITH ORDINALITY AS names (metric, at);',
  ],
  requestSets: 'visible_record r, json_each(r.request_set::json) AS asked',
  requestMember: (name, type) =>
    type === 'text' ? `asked.value ->> '${name}'` : `(asked.value ->> '${name}')::${type}`,
  daily: { day: "date '1970-01-01' + u.day AS day", cluster: 'u.cluster', key: () => "nullif(u.key, '')" },
  parts: { named: namedView, visible: visibleViews, rollup: rollUpTable },
};

export const postgresSchema = (sql: string): string => withGenerated(sql, POSTGRES);

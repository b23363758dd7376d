import { VIEWS } from '../src/accounting/views';
import { PLAIN_COLUMNS } from '../src/record/plain-columns';

/** docs/examples/duckdb.sql: the views of the stores, over exported records. */

const QUANTITIES = PLAIN_COLUMNS.flatMap(({ name }) => /^peak_(.*)_lower_bytes$/.exec(name)?.[1] ?? []);

const ofView = (wanted: string): readonly string[] =>
  VIEWS.find(({ name }) => name === wanted)?.columns.flatMap(({ name }) => (name === 'record' ? [] : [name])) ?? [];

const peaks = (quantity: string): string => {
  const of = (member: string): string => `peak_${quantity}_${member}`;
  const basis = ['proved', 'exact', 'open', 'sources'].map((member) => `'${member}', ${of(member)}`);
  return [
    `SELECT record, job_id, task_id, '${quantity}' AS quantity, ${of('lower_bytes')} AS lower_bytes,`,
    `  ${of('upper_bytes')} AS upper_bytes, ${of('slack_bytes')} AS slack_bytes, ${of('at')} AS at,`,
    `  ${of('command')} AS command, json_object(${basis.join(', ')}) AS basis`,
    `FROM records WHERE ${of('lower_bytes')} IS NOT NULL`,
  ].join('\n');
};

export const duckdbViews = (): string =>
  `-- The views that docs/sql.md asks, but for daily, over exported records, for DuckDB:
--   qmemacct export records --since 2026-01-01 --format parquet --output records.parquet
--   cat docs/examples/duckdb.sql docs/sql/04-bad-hosts.sql | duckdb
-- Made by npm run generate.
CREATE VIEW records AS
SELECT file_row_number AS record, * EXCLUDE (file_row_number)
FROM read_parquet('records*.parquet', file_row_number = true);

CREATE VIEW jobs AS SELECT
  record,
${ofView('jobs')
  .map((name) => `  ${name}`)
  .join(',\n')}
FROM records;

CREATE VIEW peaks AS
${QUANTITIES.map(peaks).join('\nUNION ALL\n')};

CREATE VIEW requests AS
SELECT record, job_id, task_id, 'h_vmem' AS complex, h_vmem_request_bytes AS request_bytes,
  h_vmem_limit_bytes AS limit_bytes, h_vmem_per AS per
FROM records WHERE h_vmem_per IS NOT NULL
UNION ALL
SELECT record, job_id, task_id, asked.key, CAST(asked.value ->> 'request_bytes' AS BIGINT),
  CAST(asked.value ->> 'limit_bytes' AS BIGINT), asked.value ->> 'per'
FROM records, json_each(records.requests) AS asked;

CREATE VIEW metrics AS
SELECT record, job_id, task_id, metric.key AS metric, CAST(metric.value AS DOUBLE) AS value
FROM records, json_each(records.metrics) AS metric;
`;

-- The views that docs/sql.md asks, but for daily, over exported records, for DuckDB:
--   qmemacct export records --since 2026-01-01 --format parquet --output records.parquet
--   cat docs/examples/duckdb.sql docs/sql/04-bad-hosts.sql | duckdb
-- Made by npm run generate.
CREATE VIEW records AS
SELECT file_row_number AS record, * EXCLUDE (file_row_number)
FROM read_parquet('records*.parquet', file_row_number = true);

CREATE VIEW jobs AS SELECT
  record,
  cluster,
  job_id,
  task_id,
  pe_task_id,
  host,
  run_id,
  owner,
  job_name,
  queue,
  project,
  pe,
  account,
  program,
  slots,
  host_slots,
  submitted_at,
  started_at,
  ended_at,
  exit_status,
  signal,
  failed,
  status,
  trust,
  h_vmem_request_bytes,
  h_vmem_limit_bytes,
  h_vmem_per,
  request_order,
  wallclock_seconds,
  suspended_seconds,
  cpu_seconds,
  processes,
  max_processes,
  max_threads,
  read_bytes,
  written_bytes,
  read_chars,
  written_chars,
  claimed_by_tree_only,
  claimed_by_group_only,
  samples,
  interval_seconds,
  longest_gap_seconds,
  unobserved_start_seconds,
  rss_byte_seconds,
  sampler_cpu_seconds,
  sampler_max_rss_bytes,
  sampler_mode,
  ge_wallclock_seconds,
  ge_cpu_seconds,
  ge_user_seconds,
  ge_system_seconds,
  ge_maxvmem_bytes,
  ge_maxrss_bytes,
  ge_mem_gib_seconds,
  ge_io_gib,
  ge_category,
  ge_submit_command,
  ge_deleted_by,
  ge_lines,
  revision,
  request_complex,
  request_limit_bytes,
  cpu_efficiency,
  memory_efficiency,
  queue_wait_seconds,
  peak_rss_lower_bytes,
  peak_rss_upper_bytes,
  peak_rss_swap_lower_bytes,
  peak_rss_swap_upper_bytes,
  peak_vmem_lower_bytes,
  peak_vmem_upper_bytes,
  peak_process_vmem_lower_bytes,
  peak_process_vmem_upper_bytes,
  peak_footprint_lower_bytes,
  peak_footprint_upper_bytes
FROM records;

CREATE VIEW peaks AS
SELECT record, job_id, task_id, 'rss' AS quantity, peak_rss_lower_bytes AS lower_bytes,
  peak_rss_upper_bytes AS upper_bytes, peak_rss_slack_bytes AS slack_bytes, peak_rss_at AS at,
  peak_rss_command AS command, json_object('proved', peak_rss_proved, 'exact', peak_rss_exact, 'open', peak_rss_open, 'sources', peak_rss_sources) AS basis
FROM records WHERE peak_rss_lower_bytes IS NOT NULL
UNION ALL
SELECT record, job_id, task_id, 'rss_swap' AS quantity, peak_rss_swap_lower_bytes AS lower_bytes,
  peak_rss_swap_upper_bytes AS upper_bytes, peak_rss_swap_slack_bytes AS slack_bytes, peak_rss_swap_at AS at,
  peak_rss_swap_command AS command, json_object('proved', peak_rss_swap_proved, 'exact', peak_rss_swap_exact, 'open', peak_rss_swap_open, 'sources', peak_rss_swap_sources) AS basis
FROM records WHERE peak_rss_swap_lower_bytes IS NOT NULL
UNION ALL
SELECT record, job_id, task_id, 'vmem' AS quantity, peak_vmem_lower_bytes AS lower_bytes,
  peak_vmem_upper_bytes AS upper_bytes, peak_vmem_slack_bytes AS slack_bytes, peak_vmem_at AS at,
  peak_vmem_command AS command, json_object('proved', peak_vmem_proved, 'exact', peak_vmem_exact, 'open', peak_vmem_open, 'sources', peak_vmem_sources) AS basis
FROM records WHERE peak_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT record, job_id, task_id, 'process_vmem' AS quantity, peak_process_vmem_lower_bytes AS lower_bytes,
  peak_process_vmem_upper_bytes AS upper_bytes, peak_process_vmem_slack_bytes AS slack_bytes, peak_process_vmem_at AS at,
  peak_process_vmem_command AS command, json_object('proved', peak_process_vmem_proved, 'exact', peak_process_vmem_exact, 'open', peak_process_vmem_open, 'sources', peak_process_vmem_sources) AS basis
FROM records WHERE peak_process_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT record, job_id, task_id, 'footprint' AS quantity, peak_footprint_lower_bytes AS lower_bytes,
  peak_footprint_upper_bytes AS upper_bytes, peak_footprint_slack_bytes AS slack_bytes, peak_footprint_at AS at,
  peak_footprint_command AS command, json_object('proved', peak_footprint_proved, 'exact', peak_footprint_exact, 'open', peak_footprint_open, 'sources', peak_footprint_sources) AS basis
FROM records WHERE peak_footprint_lower_bytes IS NOT NULL;

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

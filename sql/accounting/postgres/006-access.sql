GRANT USAGE ON SCHEMA qmemacct TO qmemacct_deliver, qmemacct_read, qmemacct_project, qmemacct_own;
GRANT EXECUTE ON FUNCTION deliver(jsonb) TO qmemacct_deliver;
GRANT EXECUTE ON FUNCTION read_job(bigint, bigint, text), read_running(bigint, text),
  read_records(jsonb, text, integer), read_facts(jsonb, text, bigint, bigint, integer),
  sees_all(), read_stale_days(integer, integer), read_rollup(integer, text, text, integer, integer)
  TO qmemacct_read, qmemacct_project, qmemacct_own;

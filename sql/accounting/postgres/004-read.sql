-- What reports and users may call. Who asks, sees: members of qmemacct_read (or qmemacct_owner) everything, others their
-- own records (owner = the role that they logged in as), those in qmemacct_project also those of the projects that they
-- have records in.
CREATE FUNCTION sight() RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE
  own integer;
BEGIN
  IF pg_has_role(session_user, 'qmemacct_read', 'MEMBER') OR pg_has_role(session_user, 'qmemacct_owner', 'MEMBER') THEN
    RETURN 'true';
  END IF;
  own := coalesce(known_word('o', session_user::text), -1);
  IF NOT pg_has_role(session_user, 'qmemacct_project', 'MEMBER') THEN RETURN format('r.owner_id = %s', own); END IF;
  RETURN format('(r.owner_id = %s OR r.project_id = ANY (%L::integer[]))', own,
    ARRAY(SELECT DISTINCT project_id FROM job_record WHERE owner_id = own AND project_id IS NOT NULL));
END $$;

CREATE FUNCTION months_list(months integer[]) RETURNS text IMMUTABLE LANGUAGE sql AS
  $$ SELECT CASE WHEN months = '{}' THEN '-1' ELSE array_to_string(months, ',') END $$;

CREATE FUNCTION read_job(the_job bigint, the_task bigint, the_cluster text) RETURNS SETOF jsonb
STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  months integer[] := ARRAY(SELECT key_month FROM job_month WHERE block = the_job / 1024);
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT account_json(account_of_row(r, (SELECT points FROM series AS s WHERE s.key_month = r.key_month AND s.key_month IN (%s) AND s.record_id = r.id)))
     FROM job_record AS r WHERE r.key_month IN (%s) AND r.job_id = $1 AND ($2 IS NULL OR r.task_id = $2)
       AND ($3 IS NULL OR r.cluster_id = known_word(''c'', $3)) AND %s', months_list(months), months_list(months), sight())
    USING the_job, the_task, the_cluster;
END $$;

CREATE FUNCTION read_running(since bigint, the_cluster text) RETURNS SETOF jsonb
STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT account_json(account_of_row(r, (SELECT points FROM series AS s WHERE s.key_month = r.key_month AND s.record_id = r.id)))
     FROM job_record AS r WHERE r.status = ''r'' AND revision_of(r.stamp) >= $1
       AND ($2 IS NULL OR r.cluster_id = known_word(''c'', $2)) AND %s', sight())
    USING since, the_cluster;
END $$;

-- Grid Engine calls each task of a parallel job "petask" where it runs, so that its record has no name until its
-- accounting line comes: it counts under that of its job's master, of several (runs, or a number that came again) of the
-- nearest in time.

-- Number of the name that `job_record AS r`, which counts in a time, counts under.
CREATE FUNCTION counted_name(since bigint, until bigint) RETURNS text STABLE LANGUAGE sql AS $$
  SELECT format('coalesce(r.job_name_id, CASE WHEN r.pe_task_id IS NOT NULL THEN (
    SELECT m.job_name_id FROM job_record AS m JOIN word AS n ON n.id = m.job_name_id
    WHERE m.key_month IN (%s) AND m.job_id = r.job_id AND coalesce(m.task_id, 0) = coalesce(r.task_id, 0)
      AND m.pe_task_id IS NULL AND m.cluster_id = r.cluster_id AND m.owner_id IS NOT DISTINCT FROM r.owner_id
      AND abs(m.counted_at - r.counted_at) <= 3888000000
    ORDER BY abs(m.counted_at - r.counted_at), n.text LIMIT 1) END)',
    months_of(since - 3888000000, until + 3888000000))
$$;

DO $$
DECLARE
  f record;
  its_time CONSTANT text := '(f ->> ''since'')::bigint, (f ->> ''until'')::bigint';
BEGIN
  FOR f IN SELECT p.oid AS id FROM pg_proc AS p
    WHERE p.pronamespace = 'qmemacct'::regnamespace AND p.proname IN ('condition_of', 'read_facts')
  LOOP
    EXECUTE replace(replace(replace(replace(pg_get_functiondef(f.id),
      'format(''r.job_name_id IN (SELECT', 'format(counted_name(' || its_time || ') || '' IN (SELECT'),
      'format(''r.job_name_id = %s''', 'format(counted_name(' || its_time || ') || '' = %s'''),
      'CASE WHEN grouped_by IN (''owner'', ''project'', ''queue'', ''host'', ''job_name'', ''cluster'')',
      'CASE WHEN grouped_by IN (''job_name'', ''every'') THEN format(''word_text(%s)'', counted_name(since, until))
    WHEN grouped_by IN (''owner'', ''project'', ''queue'', ''host'', ''cluster'')'),
      ' WHEN grouped_by = ''every'' THEN ''word_text(r.job_name_id)''', '');
  END LOOP;
END $$;

-- Days that were summed up without them.
INSERT INTO stale_day (day)
  SELECT DISTINCT counted_at / 86400000 FROM job_record WHERE pe_task_id IS NOT NULL AND job_name_id IS NULL;

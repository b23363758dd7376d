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
     FROM job_record AS r WHERE r.key_month IN (%s) AND r.status = ''r'' AND revision_of(r.stamp) >= $1
       AND ($2 IS NULL OR r.cluster_id = known_word(''c'', $2)) AND %s',
    -- A running job counts where it was last heard of.
    months_of(greatest(since, 0), 253402300800000), sight())
    USING since, the_cluster;
END $$;

-- What a filter (RecordFilter of src/accounting/store.ts) asks of `job_record AS r`, apart from the time.
CREATE FUNCTION condition_of(f jsonb) RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE
  kinds CONSTANT jsonb := '{"cluster": "c", "owner": "o", "project": "p", "queue": "q", "host": "h", "pe": "e"}';
  parts text[] := '{true}';
  key text;
  kind text;
  bad CONSTANT text := '(coalesce(r.failed, 0) <> 0 OR coalesce(r.exit_status, 0) <> 0 OR coalesce(r.signal, 0) <> 0)';
  had_samples CONSTANT text := '(coalesce(nullif(split_part(r.counters, '','', 12), '''')::double precision, 0) > 0)';
  bound record;
BEGIN
  FOR key, kind IN SELECT k, v FROM jsonb_each_text(kinds) AS e (k, v) LOOP
    IF f ->> key IS NOT NULL THEN
      parts := parts || format('r.%I = %s', key || '_id', coalesce(known_word(kind::"char", f ->> key), -1));
    END IF;
  END LOOP;
  key := f ->> 'job_name';
  IF key ~ '[*?]' THEN
    key := replace(replace(replace(key, '\', '\\'), '%', '\%'), '_', '\_');
    parts := parts || format('r.job_name_id IN (SELECT id FROM word WHERE kind = ''n'' AND text LIKE %L)', translate(key, '*?', '%_'));
  ELSIF key IS NOT NULL THEN
    parts := parts || format('r.job_name_id = %s', coalesce(known_word('n', key), -1));
  END IF;
  IF jsonb_typeof(f -> 'states') = 'array' THEN
    parts := parts || format('r.status = ANY (%L::"char"[])', ARRAY(SELECT left(s, 1) FROM jsonb_array_elements_text(f -> 'states') AS s));
  END IF;
  IF f ->> 'failed' IS NOT NULL THEN parts := parts || (CASE WHEN (f ->> 'failed')::boolean THEN bad ELSE 'NOT ' || bad END); END IF;
  IF f ->> 'sampled' IS NOT NULL THEN
    parts := parts || (CASE WHEN (f ->> 'sampled')::boolean THEN had_samples ELSE 'NOT ' || had_samples END);
  END IF;
  FOR bound IN SELECT * FROM (VALUES
    ('peak_at_least', 'r.peak_rss_lower >='), ('peak_at_most', 'r.peak_rss_lower <='),
    ('limit_at_least', 'r.h_vmem_limit >='), ('limit_at_most', 'r.h_vmem_limit <='),
    ('share_at_least', 'r.peak_rss_lower::double precision / nullif(r.h_vmem_limit, 0) >='),
    ('share_at_most', 'r.peak_rss_lower::double precision / nullif(r.h_vmem_limit, 0) <='),
    ('wallclock_at_least', 'r.wallclock >=')) AS b (name, test)
  LOOP
    IF f ->> bound.name IS NOT NULL THEN
      parts := parts || format('%s %L::double precision', bound.test, (f ->> bound.name)::double precision);
    END IF;
  END LOOP;
  RETURN array_to_string(parts, ' AND ');
END $$;

-- The months in which there are records that count in a time.
CREATE FUNCTION months_of(since bigint, until bigint) RETURNS text STABLE LANGUAGE sql AS $$
  SELECT months_list(ARRAY(SELECT DISTINCT key_month FROM day_month
    WHERE day BETWEEN floor(since / 86400000.0) AND floor((until - 1) / 86400000.0)))
$$;

-- Of a job that one host tells of once: how many slots it had there, as hostSlots of src/accounting/facts.ts.
CREATE FUNCTION host_slots_of(r job_record) RETURNS integer IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(r.host_slots, CASE WHEN r.stamp >> 55 <> 1 THEN 1 WHEN r.pe_task_id IS NULL THEN coalesce(r.slots, 1) ELSE 0 END)
$$;
CREATE FUNCTION requested_of(r job_record) RETURNS double precision IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN r.h_vmem_per IS NULL THEN NULL
    WHEN r.h_vmem_request IS NULL OR r.h_vmem_per = 's' AND r.host_slots IS NULL AND r.h_vmem_limit IS NOT NULL THEN r.h_vmem_limit
    WHEN r.h_vmem_per = 'j' THEN r.h_vmem_request
    ELSE r.h_vmem_request::double precision * host_slots_of(r) END
$$;

CREATE FUNCTION read_records(f jsonb, sort text, most integer) RETURNS SETOF jsonb
STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  value text := CASE sort WHEN 'wallclock' THEN 'r.wallclock' WHEN 'cpu' THEN 'r.cpu' WHEN 'peak' THEN 'r.peak_rss_lower'
    WHEN 'requested' THEN 'requested_of(r) * r.wallclock'
    WHEN 'unused' THEN '(r.h_vmem_limit - r.peak_rss_lower)::double precision * r.wallclock' END;
BEGIN
  RETURN QUERY EXECUTE format(
    'SELECT account_json(account_of_row(chosen.r, NULL)) FROM (
       SELECT r FROM job_record AS r WHERE r.key_month IN (%s) AND r.counted_at >= $1 AND r.counted_at < $2 AND %s AND %s
       ORDER BY %s r.counted_at DESC, r.id DESC LIMIT $3) AS chosen',
    months_of((f ->> 'since')::bigint, (f ->> 'until')::bigint), condition_of(f), sight(), value || ' DESC NULLS LAST,')
    USING (f ->> 'since')::bigint, (f ->> 'until')::bigint, most;
END $$;

-- What sums need of the records that a filter selects, oldest first, from after (counted_at, id) on.
CREATE FUNCTION read_facts(f jsonb, grouped_by text, after_counted bigint, after_id bigint, most integer)
RETURNS TABLE (
  id double precision, counted double precision, job text, key text, status text, stands boolean, slots integer,
  wallclock double precision, cpu double precision, "limit" double precision, requested double precision,
  peak double precision, used double precision, energy double precision, more jsonb,
  keys jsonb, elsewhere boolean)
STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  since bigint := (f ->> 'since')::bigint;
  until bigint := (f ->> 'until')::bigint;
  cpus integer := coalesce(known_word('m', 'energy_package_joules'), -1);
  memory integer := coalesce(known_word('m', 'energy_dram_joules'), -1);
  grouping_key text := CASE WHEN grouped_by IN ('owner', 'project', 'queue', 'host', 'job_name', 'cluster')
    THEN format('word_text(r.%I)', grouped_by || '_id') WHEN grouped_by = 'every' THEN 'word_text(r.job_name_id)' ELSE 'NULL' END;
BEGIN
  RETURN QUERY EXECUTE format($sql$
    SELECT r.id::double precision, r.counted_at::double precision,
      r.cluster_id || '/' || r.job_id || '/' || coalesce(r.task_id, 0), %s, r.status::text,
      CASE WHEN r.pe_task_id IS NULL THEN true WHEN r.pe_task_id LIKE '1.%%' THEN NOT EXISTS (
        SELECT FROM job_record AS m WHERE m.key_month IN (%s) AND m.job_id = r.job_id
          AND m.task_id IS NOT DISTINCT FROM r.task_id AND m.pe_task_id IS NULL AND m.host_id = r.host_id
          AND m.cluster_id = r.cluster_id AND abs(m.counted_at - r.counted_at) <= 3888000000) ELSE false END,
      host_slots_of(r), r.wallclock, r.cpu, r.h_vmem_limit::double precision, requested_of(r),
      r.peak_rss_lower::double precision, r.rss_byte_seconds,
      CASE WHEN r.metrics IS NULL THEN NULL ELSE
        (SELECT sum(split_part(item, '=', 2)::double precision) FROM unnest(string_to_array(r.metrics, ';')) AS item
         WHERE split_part(item, '=', 1)::integer IN (%s, %s)) END,
      CASE
        WHEN coalesce(r.failed, 0) <> 0 OR coalesce(r.exit_status, 0) <> 0 OR coalesce(r.signal, 0) <> 0
          THEN account_json(account_of_row(r, NULL)) -> 'record'
        WHEN r.status <> 'l' AND r.notes IS NULL AND coalesce(nullif(split_part(r.counters, ',', 12), '')::double precision, 0) > 0
          THEN NULL
        ELSE jsonb_build_object('samples', number_json(split_part(r.counters, ',', 12)), 'failed', r.failed,
          'started_at', to_time(r.started_at), 'wallclock_seconds', r.wallclock, 'run_id', r.run_id,
          'trust', stamp_json(r.stamp) -> 'trust', 'notes', unpack_notes(coalesce(r.notes, '')),
          'status', CASE r.status WHEN 'f' THEN 'finished' WHEN 'r' THEN 'running' WHEN 'l' THEN 'lost' ELSE 'unsampled' END) END,
      jsonb_build_array(r.cluster_id, r.owner_id, r.project_id, r.queue_id, r.host_id),
      %s
    FROM job_record AS r
    WHERE r.key_month IN (%s) AND r.counted_at >= $1 AND r.counted_at < $2 AND (r.counted_at, r.id) > ($3, $4) AND %s AND %s
    ORDER BY r.counted_at, r.id LIMIT $5 $sql$,
    grouping_key, months_of(since - 3888000000, until + 3888000000), cpus, memory,
    CASE WHEN grouped_by = 'every' THEN format('EXISTS (SELECT FROM job_record AS m WHERE m.key_month IN (%s)
        AND m.job_id = r.job_id AND m.task_id IS NOT DISTINCT FROM r.task_id AND m.cluster_id = r.cluster_id
        AND m.counted_at / 86400000 <> r.counted_at / 86400000 AND abs(m.counted_at - r.counted_at) <= 3974400000)',
      months_of(since - 3974400000, until + 3974400000)) ELSE 'NULL::boolean' END,
    months_of(since, until), condition_of(f), sight())
    USING since, until, after_counted, after_id, most;
END $$;

-- Whether the caller sees all records, and so all sums.
CREATE FUNCTION sees_all() RETURNS boolean STABLE LANGUAGE plpgsql SECURITY DEFINER
SET search_path = pg_catalog, qmemacct, pg_temp AS $$ BEGIN RETURN sight() = 'true'; END $$;

-- Days whose sums do not hold, or were never made.
CREATE FUNCTION read_stale_days(first integer, beyond integer) RETURNS SETOF integer
STABLE LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
  SELECT DISTINCT day FROM stale_day WHERE day >= greatest(first, (SELECT before_day FROM closed)) AND day < beyond ORDER BY day
$$;

-- Sums of days that have some, by one dimension; `value`: of this word alone.
CREATE FUNCTION read_rollup(the_dimension integer, value text, the_cluster text, first integer, beyond integer)
RETURNS TABLE (day integer, key text, cluster text, sums jsonb)
STABLE LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
BEGIN
  IF sight() <> 'true' THEN RETURN; END IF;
  RETURN QUERY SELECT u.day, word_text(nullif(u.word_id, 0)), word_text(u.cluster_id), u.sums FROM rollup AS u
    WHERE u.dimension = the_dimension AND u.day >= first AND u.day < beyond
      AND (the_cluster IS NULL OR u.cluster_id = known_word('c', the_cluster))
      AND (value IS NULL OR u.word_id = known_word(substr('opqh', the_dimension, 1)::"char", value))
      AND (u.day < (SELECT before_day FROM closed) OR NOT EXISTS (SELECT FROM stale_day AS s WHERE s.day = u.day));
END $$;

-- What reports and users may call. Who asks, sees: members of qmemacct_read (or qmemacct_owner) everything, others their
-- own records (owner = the role that they logged in as), those in qmemacct_project also those of shared_projects().
CREATE FUNCTION sight() RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE
  own integer;
BEGIN
  IF pg_has_role(session_user, 'qmemacct_read', 'MEMBER') OR pg_has_role(session_user, 'qmemacct_owner', 'MEMBER') THEN
    RETURN 'true';
  END IF;
  own := coalesce(known_word('o', session_user::text), -1);
  IF NOT pg_has_role(session_user, 'qmemacct_project', 'MEMBER') THEN RETURN format('r.owner_id = %s', own); END IF;
  RETURN format('(r.owner_id = %s OR r.project_id = ANY (%L::integer[]))', own, shared_projects(own));
END $$;

-- The stamp of merged field `n` of a row: the row's own, unless `provenance` (pack_provenance) has another for it.
CREATE FUNCTION field_stamp(n integer, own bigint, provenance text) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN provenance IS NULL THEN own ELSE coalesce(
    (SELECT split_part(part, ':', 1)::bigint FROM unnest(string_to_array(provenance, ';')) AS u (part)
     WHERE n::text = ANY (string_to_array(split_part(part, ':', 2), ','))), own) END
$$;

-- The projects whose jobs an owner may see. The rule is that of src/server/shared-projects.ts, and one test asks both:
-- Grid Engine has run jobs of the owner there in the last 92 days, by records whose owner (field 1) and project (field 4)
-- no user can have written; what stands for "no project" is none.
CREATE FUNCTION shared_projects(the_owner integer) RETURNS integer[] STABLE LANGUAGE plpgsql AS $$
DECLARE
  day_ms CONSTANT bigint := 86400000;
  until bigint := floor(extract(epoch FROM now()) * 1000) + day_ms;
  since bigint := until - 93 * day_ms;
  nobodys CONSTANT integer[] :=
    array_remove(ARRAY[known_word('p', ''), known_word('p', 'NONE'), known_word('p', 'none')], NULL);
  found integer[];
BEGIN
  EXECUTE format(
    'SELECT ARRAY(SELECT r.project_id FROM job_record AS r
       WHERE r.key_month IN (%s) AND r.owner_id = $1 AND r.counted_at >= $2 AND r.counted_at < $3
         AND r.project_id <> ALL ($4)
         AND field_stamp(1, r.stamp, r.provenance) >> 55 > 0 AND field_stamp(4, r.stamp, r.provenance) >> 55 > 0
       GROUP BY r.project_id)', months_of(since, until))
    INTO found USING the_owner, since, until, nobodys;
  RETURN found;
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

-- The months in which there are records that count in a time.
CREATE FUNCTION months_of(since bigint, until bigint) RETURNS text STABLE LANGUAGE sql AS $$
  SELECT months_list(ARRAY(SELECT DISTINCT key_month FROM day_month
    WHERE day BETWEEN floor(since / 86400000.0) AND floor((until - 1) / 86400000.0)))
$$;

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

-- A pattern of ours (`*`, `?`) as one of LIKE.
CREATE FUNCTION like_of(pattern text) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT translate(replace(replace(replace(pattern, '\', '\\'), '%', '\%'), '_', '\_'), '*?', '%_')
$$;

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
    -- As isHostPattern (src/accounting/host-pattern.ts) says.
    IF key = 'host' AND f ->> key ~ '[*?,]' THEN
      parts := parts || format('r.host_id IN (SELECT w.id FROM word AS w, unnest(%L::text[]) AS p (pattern) WHERE w.kind = ''h''
        AND (w.text LIKE pattern OR pattern NOT LIKE ''%%.%%'' AND split_part(w.text, ''.'', 1) LIKE pattern))',
        ARRAY(SELECT like_of(trim(u.part)) FROM unnest(string_to_array(f ->> key, ',')) AS u (part) WHERE trim(u.part) <> ''));
    ELSIF f ->> key IS NOT NULL THEN
      parts := parts || format('r.%I = %s', key || '_id', coalesce(known_word(kind::"char", f ->> key), -1));
    END IF;
  END LOOP;
  key := f ->> 'job_name';
  IF key ~ '[*?]' THEN
    parts := parts || format('%s IN (SELECT id FROM word WHERE kind = ''n'' AND text LIKE %L)',
      counted_name((f ->> 'since')::bigint, (f ->> 'until')::bigint), like_of(key));
  ELSIF key IS NOT NULL THEN
    parts := parts || format('%s = %s', counted_name((f ->> 'since')::bigint, (f ->> 'until')::bigint),
      coalesce(known_word('n', key), -1));
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

-- Of a job that one host tells of once: how many slots it had there, as hostSlots of src/record/facts.ts.
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

-- The ends of a packed peak (see `shorter`) of a row with this peak_rss, and whether a limit is among their sources.
CREATE FUNCTION ends_json(peak text, rss text, rss_lower bigint) RETURNS jsonb IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  p text[] := string_to_array(CASE peak WHEN '=' THEN rss ELSE peak END, ':', '');
  unit integer := CASE WHEN p[1]::integer >= 4 THEN 1024 ELSE 1 END;
  lower_end bigint := coalesce(p[2]::bigint * unit, rss_lower);
  sources integer := CASE p[6] WHEN '=' THEN split_part(rss, ':', 6) ELSE p[6] END;
BEGIN
  IF peak IS NULL THEN RETURN NULL; END IF;
  RETURN jsonb_build_object('lower_bytes', lower_end, 'upper_bytes', lower_end + p[3]::bigint * unit,
    'sources', unbits(sources, bracket_sources()));
END $$;

-- What sums need of the records that a filter selects, oldest first, from after (counted_at, id) on. `more` has what
-- endedBadly, killedByMemory and coverageReason (TypeScript) judge by: the whole record takes twenty times as long.
-- Sums do not count what the job's owner alone says (rank 0), until Grid Engine's accounting confirms it.
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
  kills integer := coalesce(known_word('m', 'cgroup_oom_kills'), -1);
  grouping_key text := CASE WHEN grouped_by IN ('job_name', 'every') THEN counted_name(since, until)
    WHEN grouped_by IN ('owner', 'project', 'queue', 'host', 'cluster') THEN format('r.%I', grouped_by || '_id')
    ELSE 'NULL::integer' END;
BEGIN
  RETURN QUERY EXECUTE format($sql$
    WITH r AS MATERIALIZED (
      SELECT r.*, %s AS key_id, host_slots_of(r) AS its_slots, requested_of(r) AS its_request,
        coalesce(r.failed, 0) <> 0 OR coalesce(r.exit_status, 0) <> 0 OR coalesce(r.signal, 0) <> 0 AS bad,
        split_part(r.counters, ',', 12) AS samples,
        CASE WHEN r.pe_task_id IS NULL THEN true WHEN r.pe_task_id LIKE '1.%%' THEN NOT EXISTS (
          SELECT FROM job_record AS m WHERE m.key_month IN (%s) AND m.job_id = r.job_id
            AND coalesce(m.task_id, 0) = coalesce(r.task_id, 0) AND m.pe_task_id IS NULL AND m.host_id = r.host_id
            AND m.cluster_id = r.cluster_id AND m.stamp >> 55 > 0
            AND abs(m.counted_at - r.counted_at) <= 3888000000) ELSE false END AS stands,
        %s AS elsewhere
      FROM job_record AS r
      WHERE r.key_month IN (%s) AND r.counted_at >= $1 AND r.counted_at < $2 AND (r.counted_at, r.id) > ($3, $4)
        AND (r.stamp >> 55 > 0 OR %L::boolean) AND %s AND %s
      ORDER BY r.counted_at, r.id LIMIT $5),
    -- Most records have one of a few.
    noted AS MATERIALIZED (
      SELECT d.notes, unpack_notes(d.notes) AS unpacked FROM (SELECT DISTINCT r.notes FROM r WHERE r.notes IS NOT NULL) AS d)
    SELECT r.id::double precision, r.counted_at::double precision,
      r.cluster_id || '/' || r.job_id || '/' || coalesce(r.task_id, 0), w.text, r.status::text, r.stands,
      r.its_slots, r.wallclock, r.cpu, r.h_vmem_limit::double precision, r.its_request::double precision,
      r.peak_rss_lower::double precision, r.rss_byte_seconds,
      CASE WHEN r.metrics IS NULL THEN NULL ELSE
        (SELECT sum(split_part(item, '=', 2)::double precision) FROM unnest(string_to_array(r.metrics, ';')) AS item
         WHERE split_part(item, '=', 1)::integer IN (%s, %s)) END,
      CASE
        WHEN NOT r.bad AND r.status <> 'l' AND r.notes IS NULL AND coalesce(nullif(r.samples, '')::double precision, 0) > 0
          THEN NULL
        ELSE jsonb_build_object('samples', number_json(r.samples), 'failed', r.failed,
          'started_at', to_time(r.started_at), 'wallclock_seconds', r.wallclock, 'run_id', r.run_id,
          'trust', ('{self-reported,accounting,usage,root}'::text[])[(r.stamp >> 55) + 1],
          'notes', coalesce(n.unpacked, '[]'),
          'status', CASE r.status WHEN 'f' THEN 'finished' WHEN 'r' THEN 'running' WHEN 'l' THEN 'lost' ELSE 'unsampled' END)
        || CASE WHEN NOT r.bad THEN '{}' ELSE jsonb_build_object(
          'exit_status', r.exit_status, 'signal', r.signal, 'pe_task_id', r.pe_task_id, 'slots', r.slots,
          'pe', CASE WHEN r.pe_id IS NOT NULL THEN '' END, 'granted_hosts', field_json(41, r.granted_hosts),
          'h_vmem', CASE WHEN r.h_vmem_per IS NOT NULL THEN jsonb_build_object('limit_bytes', r.h_vmem_limit) END,
          'grid_engine', CASE WHEN r.grid_engine IS NOT NULL
            THEN jsonb_build_object('maxvmem_bytes', number_json(split_part(r.grid_engine, ':', 5))) END,
          'peak_rss', ends_json(r.peak_rss, r.peak_rss, r.peak_rss_lower),
          'peak_rss_swap', ends_json(r.peak_rss_swap, r.peak_rss, r.peak_rss_lower),
          'peak_process_vmem', ends_json(r.peak_process_vmem, r.peak_rss, r.peak_rss_lower),
          'metrics', CASE WHEN r.metrics IS NULL THEN '{}' ELSE
            (SELECT coalesce(jsonb_object_agg('cgroup_oom_kills', number_json(split_part(item, '=', 2))), '{}')
             FROM unnest(string_to_array(r.metrics, ';')) AS item WHERE split_part(item, '=', 1)::integer = %s) END) END END,
      jsonb_build_array(r.cluster_id, r.owner_id, r.project_id, r.queue_id, r.host_id),
      r.elsewhere
    FROM r LEFT JOIN word AS w ON w.id = r.key_id LEFT JOIN noted AS n ON n.notes = r.notes
    ORDER BY r.counted_at, r.id $sql$,
    grouping_key, months_of(since - 3888000000, until + 3888000000),
    CASE WHEN grouped_by = 'every' THEN format('EXISTS (SELECT FROM job_record AS m WHERE m.key_month IN (%s)
        AND m.job_id = r.job_id AND coalesce(m.task_id, 0) = coalesce(r.task_id, 0) AND m.cluster_id = r.cluster_id
        AND m.stamp >> 55 > 0 AND m.counted_at / 86400000 <> r.counted_at / 86400000 AND abs(m.counted_at - r.counted_at) <= 3974400000)',
      months_of(since - 3974400000, until + 3974400000)) ELSE 'NULL::boolean' END,
    months_of(since, until), coalesce((f ->> 'claimed')::boolean, false), condition_of(f), sight(), cpus, memory, kills)
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

-- What the hooks' role may call, and what it is made of.

-- Which of two values of one field stands where their stamps are equal: -1, 0 or 1, in an order that
-- src/record/merge.ts has, too (compareValues).
CREATE FUNCTION compare_values(a jsonb, b jsonb) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  kinds CONSTANT text[] := '{"null",boolean,number,string,array,object}';
  order_of integer := sign(array_position(kinds, jsonb_typeof(a)) - array_position(kinds, jsonb_typeof(b)));
  keys_a text[];
  keys_b text[];
BEGIN
  IF order_of <> 0 OR a = b THEN RETURN order_of; END IF;
  CASE jsonb_typeof(a)
  WHEN 'boolean' THEN RETURN sign(a::boolean::integer - b::boolean::integer);
  WHEN 'number' THEN RETURN sign(a::numeric - b::numeric);
  WHEN 'string' THEN RETURN CASE WHEN (a #>> '{}') COLLATE "C" < (b #>> '{}') COLLATE "C" THEN -1 ELSE 1 END;
  WHEN 'array' THEN
    FOR i IN 0 .. least(jsonb_array_length(a), jsonb_array_length(b)) - 1 LOOP
      order_of := compare_values(a -> i, b -> i);
      IF order_of <> 0 THEN RETURN order_of; END IF;
    END LOOP;
    RETURN sign(jsonb_array_length(a) - jsonb_array_length(b));
  ELSE
    keys_a := ARRAY(SELECT k FROM jsonb_object_keys(a) AS k ORDER BY k COLLATE "C");
    keys_b := ARRAY(SELECT k FROM jsonb_object_keys(b) AS k ORDER BY k COLLATE "C");
    FOR i IN 1 .. least(cardinality(keys_a), cardinality(keys_b)) LOOP
      order_of := compare_values(to_jsonb(keys_a[i]), to_jsonb(keys_b[i]));
      IF order_of = 0 THEN order_of := compare_values(a -> keys_a[i], b -> keys_b[i]); END IF;
      IF order_of <> 0 THEN RETURN order_of; END IF;
    END LOOP;
    RETURN sign(cardinality(keys_a) - cardinality(keys_b));
  END CASE;
END $$;

-- Ended, as someone says whom a user can't forge: what grows until the job's end is taken from there.
CREATE FUNCTION is_final(stamp bigint) RETURNS boolean IMMUTABLE LANGUAGE sql AS
  'SELECT stamp & 18014398509481984 <> 0 AND stamp >> 55 > 0';

-- Whether `b` replaces `a` as the value of merged field `n`.
CREATE FUNCTION replaces(n integer, a text, a_stamp bigint, b text, b_stamp bigint) RETURNS boolean STABLE LANGUAGE plpgsql AS $$
BEGIN
  IF n IN (21, 22, 23, 28, 29, 30, 31) AND is_final(a_stamp) <> is_final(b_stamp) THEN RETURN is_final(b_stamp); END IF;
  IF a_stamp <> b_stamp THEN RETURN b_stamp > a_stamp; END IF;
  RETURN a <> b AND compare_values(field_json(n, a), field_json(n, b)) < 0;
END $$;

CREATE FUNCTION verdict_order(status "char", stamp bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
  SELECT ((stamp & 18014398509481984) << 6) | ((stamp >> 55) << 4)
    | CASE status WHEN 'f' THEN 3 WHEN 'l' THEN 2 WHEN 'u' THEN 1 ELSE 0 END
$$;

-- Two accounts of one job made one, as mergeRecords of src/record/merge.ts does; NULL where that is `a` as it was.
CREATE FUNCTION merged(a account, b account) RETURNS account STABLE LANGUAGE plpgsql AS $$
DECLARE
  own bigint := greatest(a.stamp, b.stamp);
  changed boolean := b.stamp > a.stamp;
  v text[] := a.v;
  s bigint[] := a.s;
  theirs bigint;
  stamp bigint;
  slot text;
  order_a bigint := verdict_order(a.status, a.status_stamp);
  order_b bigint := verdict_order(b.status, b.status_stamp);
BEGIN
  IF order_b > order_a OR order_b = order_a AND (b.status_stamp > a.status_stamp OR b.status_stamp = a.status_stamp
    AND b.notes <> a.notes AND compare_values(unpack_notes(a.notes), unpack_notes(b.notes)) < 0) THEN
    a.status := b.status;
    a.status_stamp := b.status_stamp;
    a.notes := b.notes;
    changed := true;
  END IF;
  FOR n IN 1 .. 42 LOOP
    stamp := coalesce(s[n], a.stamp);
    IF b.v[n] IS NOT NULL THEN
      theirs := coalesce(b.s[n], b.stamp);
      IF v[n] IS NULL OR replaces(n, v[n], stamp, b.v[n], theirs) THEN
        v[n] := b.v[n];
        stamp := theirs;
        changed := true;
      END IF;
    END IF;
    s[n] := CASE WHEN v[n] IS NOT NULL THEN nullif(stamp, own) END;
  END LOOP;
  IF a.requests <> b.requests OR a.metrics <> b.metrics OR b.stamps <> a.stamps OR b.stamp <> a.stamp THEN
    SELECT
      coalesce(jsonb_object_agg(substr(key, 2), value) FILTER (WHERE key LIKE 'r%'), '{}'),
      coalesce(jsonb_object_agg(substr(key, 2), value) FILTER (WHERE key LIKE 'm%'), '{}'),
      coalesce(jsonb_object_agg(key, its_stamp) FILTER (WHERE its_stamp <> own), '{}'),
      changed OR coalesce(bool_or(taken), false)
      INTO a.requests, a.metrics, a.stamps, changed
    FROM (
      SELECT key, taken, CASE WHEN taken THEN vb ELSE va END AS value, CASE WHEN taken THEN sb ELSE sa END AS its_stamp
      FROM (
        SELECT key, va, vb, sa, sb, vb IS NOT NULL AND (va IS NULL OR sb > sa OR sb = sa AND va <> vb AND
          CASE left(key, 1) WHEN 'r' THEN compare_values(request_json(va), request_json(vb)) < 0
          ELSE va::double precision < vb::double precision END) AS taken
        FROM (SELECT 'r' || k AS key, val AS va, coalesce((a.stamps ->> ('r' || k))::bigint, a.stamp) AS sa
              FROM jsonb_each_text(a.requests) AS e (k, val)
              UNION ALL
              SELECT 'm' || k, val, coalesce((a.stamps ->> ('m' || k))::bigint, a.stamp)
              FROM jsonb_each_text(a.metrics) AS e (k, val)) AS ours
        FULL JOIN (SELECT 'r' || k AS key, val AS vb, coalesce((b.stamps ->> ('r' || k))::bigint, b.stamp) AS sb
              FROM jsonb_each_text(b.requests) AS e (k, val)
              UNION ALL
              SELECT 'm' || k, val, coalesce((b.stamps ->> ('m' || k))::bigint, b.stamp)
              FROM jsonb_each_text(b.metrics) AS e (k, val)) AS others USING (key)) AS compared) AS chosen;
  END IF;
  IF NOT changed THEN RETURN NULL; END IF;
  a.stamp := own;
  a.v := v;
  a.s := s;
  RETURN a;
END $$;

-- The tables of a month. Made beside and attached: readers and writers of the other months do not wait.
CREATE FUNCTION ensure_month(month integer) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  parent text;
BEGIN
  IF to_regclass(format('qmemacct.series_%s', month)) IS NOT NULL THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(1902994799, 0);
  -- Another session may have made them while this one waited. to_regclass() would not know: it looks into what this
  -- session remembers, and that an advisory lock does not bring up to date; a lock on a table does.
  IF EXISTS (SELECT FROM pg_catalog.pg_class c WHERE c.relname = 'series_' || month AND c.relnamespace = 'qmemacct'::regnamespace) THEN
    EXECUTE format('LOCK TABLE qmemacct.%I IN ACCESS SHARE MODE', 'series_' || month);
    RETURN;
  END IF;
  FOREACH parent IN ARRAY '{job_record,series}'::text[] LOOP
    EXECUTE format('CREATE TABLE qmemacct.%I (LIKE qmemacct.%I INCLUDING ALL)', parent || '_' || month, parent);
    EXECUTE format('ALTER TABLE qmemacct.%I ATTACH PARTITION qmemacct.%I FOR VALUES IN (%s)', parent, parent || '_' || month, month);
  END LOOP;
END $$;

-- So many transactions at a time can hold locks of so many jobs: more would fill the server's lock table.
CREATE FUNCTION lock_jobs(jobs bigint[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  stripe integer;
BEGIN
  FOR stripe IN SELECT DISTINCT (job % 1024)::integer FROM unnest(jobs) AS job ORDER BY 1 LOOP
    PERFORM pg_advisory_xact_lock(1902994797, stripe);
  END LOOP;
END $$;

CREATE FUNCTION same_host(a integer, b integer) RETURNS boolean STABLE LANGUAGE sql AS $$
  SELECT a = b OR (SELECT split_part(x, '.', 1) = split_part(y, '.', 1) AND (position('.' IN x) = 0 OR position('.' IN y) = 0)
    FROM (SELECT word_text(a) AS x, word_text(b) AS y) AS names)
$$;

-- What transactions share is added under the lock of word_id(): else two that add the same things in another order would
-- wait for each other.
CREATE FUNCTION note_day(counted_at bigint, month integer) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF NOT EXISTS (SELECT FROM day_month WHERE day = counted_at / 86400000 AND key_month = month) THEN
    PERFORM pg_advisory_xact_lock(1902994798, 0);
    INSERT INTO day_month (day, key_month) VALUES (counted_at / 86400000, month) ON CONFLICT DO NOTHING;
  END IF;
END $$;

-- How far apart a record of Grid Engine's accounting and one of ours begin (ms) where they are one run; NULL: they are not.
-- As startsApart of src/record/join.ts, of two of one cluster, job, task and pe task.
CREATE FUNCTION starts_apart(r job_record, a account) RETURNS bigint STABLE LANGUAGE plpgsql AS $$
DECLARE
  apart bigint := abs(r.started_at - a.v[10]::bigint);
BEGIN
  IF apart <= 2000 AND (r.run_id LIKE 'accounting.%') <> (a.run_id LIKE 'accounting.%')
    AND coalesce(r.owner_id = a.v[1]::integer, true) AND same_host(r.host_id, a.host_id) THEN
    RETURN apart;
  END IF;
  RETURN NULL;
END $$;

-- Whether a record of ours has met an accounting line already: another one than this tells of another run. As
-- metAnotherLine of src/record/join.ts.
CREATE FUNCTION met_another_line(ours job_record, line_failed integer, line_exit integer, line_signal integer, line_account text)
RETURNS boolean IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF ours.failed IS NULL THEN RETURN false; END IF;
  IF ours.failed IS DISTINCT FROM line_failed THEN RETURN true; END IF;
  IF ours.signal = 0 AND coalesce(line_signal, 0) = 0 AND ours.exit_status IS DISTINCT FROM line_exit THEN RETURN true; END IF;
  IF ours.grid_engine IS NULL OR line_account IS NULL THEN RETURN false; END IF;
  RETURN abs(split_part(ours.grid_engine, ':', 1)::double precision - split_part(line_account, ':', 1)::double precision) > 1
    OR abs(split_part(ours.grid_engine, ':', 2)::double precision - split_part(line_account, ':', 2)::double precision) > 1;
END $$;

CREATE FUNCTION points_of(r job_record) RETURNS text STABLE LANGUAGE plpgsql AS $$
DECLARE
  found text;
BEGIN
  EXECUTE format('SELECT points FROM qmemacct.series WHERE key_month = %s AND record_id = $1', r.key_month) INTO found USING r.id;
  RETURN found;
END $$;

CREATE FUNCTION remove_row(r job_record, place tid) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE format('DELETE FROM qmemacct.job_record WHERE key_month = %s AND ctid = $1', r.key_month) USING place;
END $$;

-- Puts an account into the store, its jobs locked and its month made: 'added', 'changed' or 'unchanged', and the days
-- whose sums it changes. An accounting line's record and a sampler's of the same run are one.
CREATE FUNCTION put(a account, month integer, OUT change text, OUT days integer[]) LANGUAGE plpgsql AS $$
DECLARE
  its_month integer;
  met record;
  candidate job_record;
  own job_record;
  own_at tid;
  joined job_record;
  joined_at tid;
  nearest bigint;
  apart bigint;
  base job_record;
  base_at tid;
  points text;
  stored account;
  b account;
  row_now job_record;
  from_line boolean := a.run_id LIKE 'accounting.%';
  absorbs boolean;
BEGIN
  days := '{}';
  FOR its_month IN SELECT key_month FROM job_month WHERE block = a.job_id / 1024 ORDER BY key_month LOOP
    -- By its number, not as a parameter: only that month is planned for and locked.
    FOR met IN EXECUTE format(
      'SELECT r AS candidate, r.ctid AS place, r.pe_task_id IS NOT DISTINCT FROM $4 AS same_part
       FROM qmemacct.job_record AS r WHERE key_month = %s AND job_id = $1 AND cluster_id = $2
         AND coalesce(task_id, 0) = coalesce($3, 0) ORDER BY host_id = $5 AND run_id = $6 DESC FOR UPDATE', its_month)
      USING a.job_id, a.cluster_id, a.task_id, a.pe_task_id, a.host_id, a.run_id
    LOOP
      candidate := met.candidate;
      -- What the other records of the job add to sums may depend on this one: jobs are counted once, hosts once.
      days := days || (candidate.counted_at / 86400000)::integer;
      CONTINUE WHEN NOT met.same_part;
      IF candidate.host_id = a.host_id AND candidate.run_id = a.run_id THEN
        own := candidate;
        own_at := met.place;
      ELSE
        apart := starts_apart(candidate, a);
        CONTINUE WHEN apart IS NULL;
        IF from_line THEN
          CONTINUE WHEN met_another_line(candidate, a.v[14]::integer, a.v[12]::integer, a.v[13]::integer, a.v[42]);
        ELSIF own_at IS NOT NULL THEN
          CONTINUE WHEN met_another_line(own, candidate.failed, candidate.exit_status, candidate.signal, candidate.grid_engine);
        END IF;
        IF apart < coalesce(nearest, apart + 1) THEN
          nearest := apart;
          joined := candidate;
          joined_at := met.place;
        END IF;
      END IF;
    END LOOP;
  END LOOP;
  IF own_at IS NULL AND joined_at IS NULL THEN
    row_now := row_of(a, nextval('qmemacct.record_id'), month);
    INSERT INTO job_record SELECT row_now.*;
    IF a.v[40] IS NOT NULL THEN
      INSERT INTO series (record_id, key_month, points) VALUES (row_now.id, month, a.v[40]);
    END IF;
    IF NOT EXISTS (SELECT FROM job_month WHERE block = a.job_id / 1024 AND key_month = month) THEN
      PERFORM pg_advisory_xact_lock(1902994798, 0);
      INSERT INTO job_month (block, key_month) VALUES (a.job_id / 1024, month) ON CONFLICT DO NOTHING;
    END IF;
    PERFORM note_day(row_now.counted_at, month);
    change := 'added';
    days := days || (row_now.counted_at / 86400000)::integer;
    RETURN;
  END IF;
  absorbs := own_at IS NOT NULL AND joined_at IS NOT NULL;
  IF own_at IS NULL OR absorbs AND from_line THEN
    base := joined;
    base_at := joined_at;
  ELSE
    base := own;
    base_at := own_at;
  END IF;
  points := points_of(base);
  stored := account_of_row(base, points);
  IF base.run_id LIKE 'accounting.%' AND NOT from_line THEN
    -- The sampler's own key is the one that its next delivery will have.
    stored.run_id := a.run_id;
    stored.host_id := a.host_id;
  END IF;
  IF absorbs THEN
    b := CASE WHEN from_line THEN account_of_row(own, points_of(own)) ELSE account_of_row(joined, points_of(joined)) END;
    stored := coalesce(merged(stored, b), stored);
  END IF;
  b := merged(stored, a);
  IF b.job_id IS NULL THEN
    IF NOT absorbs AND stored.run_id = base.run_id AND stored.host_id = base.host_id THEN
      change := 'unchanged';
      days := '{}';
      RETURN;
    END IF;
    b := stored;
  END IF;
  IF absorbs THEN
    IF from_line THEN
      PERFORM remove_row(own, own_at);
      EXECUTE format('DELETE FROM qmemacct.series WHERE key_month = %s AND record_id = $1', own.key_month) USING own.id;
    ELSE
      PERFORM remove_row(joined, joined_at);
      EXECUTE format('DELETE FROM qmemacct.series WHERE key_month = %s AND record_id = $1', joined.key_month) USING joined.id;
    END IF;
  END IF;
  PERFORM remove_row(base, base_at);
  row_now := row_of(b, base.id, base.key_month);
  INSERT INTO job_record SELECT row_now.*;
  PERFORM note_day(row_now.counted_at, base.key_month);
  IF b.v[40] IS DISTINCT FROM points THEN
    EXECUTE format('INSERT INTO qmemacct.%I (record_id, key_month, points) VALUES ($1, $2, $3)
      ON CONFLICT (record_id, key_month) DO UPDATE SET points = excluded.points', 'series_' || base.key_month)
      USING base.id, base.key_month, b.v[40];
  END IF;
  change := 'changed';
  days := days || (row_now.counted_at / 86400000)::integer;
END $$;

-- The month that a record was first known to begin in. What a user says makes no table but this month's or the last
-- one's: else it is kept in 0.
CREATE FUNCTION month_of_record(r incoming) RETURNS integer STABLE LANGUAGE plpgsql AS $$
DECLARE
  month integer := month_of(coalesce(to_ms(r.started_at), to_ms(r.submitted_at), r.revision));
  today date := (now() AT TIME ZONE 'UTC')::date;
BEGIN
  IF r.trust <> 'self-reported'
    OR month::text IN (to_char(today, 'YYYYMM'), to_char(today - interval '1 month', 'YYYYMM')) THEN
    RETURN month;
  END IF;
  RETURN 0;
END $$;

-- Merges a batch of records ([{...}, ...], the published JSON), each under its key, by rank. One outcome for each, in
-- order: {"change": "added" | "changed" | "unchanged"} or {"error": "..."}; what is malformed does not stop the others.
CREATE FUNCTION deliver_all(batch jsonb) RETURNS jsonb LANGUAGE plpgsql AS $$
DECLARE
  given jsonb;
  one incoming;
  records incoming[] := '{}';
  outcomes jsonb[] := '{}';
  places integer[] := '{}';
  months integer[] := '{}';
  month integer;
  its_days integer[];
  stale integer[] := '{}';
  its_change text;
BEGIN
  -- A snapshot from before the locks would not show what others have just added.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'deliver() needs READ COMMITTED' USING ERRCODE = 'feature_not_supported';
  END IF;
  FOR given IN SELECT item FROM jsonb_array_elements(batch) WITH ORDINALITY AS e (item, n) ORDER BY n LOOP
    BEGIN
      one := checked(given);
      records := records || one;
      outcomes := outcomes || 'null'::jsonb;
      places := places || cardinality(outcomes);
      months := months || month_of_record(one);
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded OR invalid_parameter_value THEN
      outcomes := outcomes || jsonb_build_object('error', left(SQLERRM, 500));
    END;
  END LOOP;
  FOR month IN SELECT DISTINCT m FROM unnest(months) AS m ORDER BY m LOOP
    PERFORM ensure_month(month);
  END LOOP;
  PERFORM lock_jobs(ARRAY(SELECT r.job_id FROM unnest(records) AS r));
  FOR n IN 1 .. cardinality(records) LOOP
    SELECT p.change, p.days INTO its_change, its_days FROM put(account_of(records[n]), months[n]) AS p;
    outcomes[places[n]] := jsonb_build_object('change', its_change);
    stale := stale || its_days;
  END LOOP;
  INSERT INTO stale_day (day) SELECT DISTINCT d FROM unnest(stale) AS d;
  RETURN to_jsonb(outcomes);
END $$;

-- The same for the hooks.
CREATE FUNCTION deliver(batch jsonb) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
BEGIN
  IF jsonb_typeof(batch) IS DISTINCT FROM 'array' OR jsonb_array_length(batch) > 1000 THEN
    RAISE EXCEPTION 'the batch is no list of at most 1000 records' USING ERRCODE = 'data_exception';
  END IF;
  RETURN deliver_all(batch);
END $$;

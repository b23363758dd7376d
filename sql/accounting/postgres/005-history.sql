-- For the import and the nightly job: members of qmemacct_owner.

-- Puts a day's sums in place, unless others have been at the marks that they were made for.
CREATE FUNCTION put_rollup(the_day integer, marks bigint[], groups jsonb) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  gone integer;
BEGIN
  PERFORM pg_advisory_xact_lock(1902994800, the_day);
  DELETE FROM stale_day WHERE id = ANY (marks);
  GET DIAGNOSTICS gone = ROW_COUNT;
  IF gone <> cardinality(marks) THEN
    RAISE EXCEPTION 'another process sums up the same day' USING ERRCODE = 'serialization_failure';
  END IF;
  IF the_day < (SELECT before_day FROM closed) THEN RETURN false; END IF;
  DELETE FROM rollup WHERE day = the_day AND dimension BETWEEN 0 AND 5;
  INSERT INTO rollup (day, dimension, cluster_id, word_id, sums)
    SELECT the_day, (g ->> 'd')::smallint, (g ->> 'c')::integer,
      CASE WHEN g ->> 'n' IS NOT NULL THEN word_id('l', g ->> 'n') ELSE coalesce((g ->> 'w')::integer, 0) END, g -> 's'
    FROM jsonb_array_elements(groups) AS g;
  RETURN true;
END $$;

-- Removes some of the records that counted before a time, and their series; -1: their days have to be summed up first.
CREATE FUNCTION prune_records(before_time bigint, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  month integer;
  gone integer := 0;
  its integer;
  last bigint;
BEGIN
  IF EXISTS (SELECT FROM stale_day WHERE day >= (SELECT before_day FROM closed) AND day < before_time / 86400000) THEN
    RETURN -1;
  END IF;
  UPDATE closed SET before_day = before_time / 86400000 WHERE before_day < before_time / 86400000;
  FOR month IN SELECT DISTINCT key_month FROM day_month WHERE day < before_time / 86400000 ORDER BY key_month LOOP
    EXECUTE format('SELECT max(counted_at) FROM qmemacct.job_record WHERE key_month = %s', month) INTO last;
    IF coalesce(last, 0) < before_time AND month > 0 AND month < month_of(before_time) THEN
      EXECUTE format('SELECT count(*) FROM qmemacct.job_record WHERE key_month = %s', month) INTO its;
      -- Readers and deliverers of the other months wait for this moment only; where they do not leave one, the next
      -- night will.
      SET LOCAL lock_timeout = '2s';
      BEGIN
        EXECUTE format('LOCK TABLE qmemacct.job_record, qmemacct.series IN ACCESS EXCLUSIVE MODE');
        EXECUTE format('SELECT max(counted_at) FROM qmemacct.job_record WHERE key_month = %s', month) INTO last;
        IF coalesce(last, 0) < before_time THEN
          EXECUTE format('DROP TABLE qmemacct.%I, qmemacct.%I', 'job_record_' || month, 'series_' || month);
          DELETE FROM day_month WHERE key_month = month;
          DELETE FROM job_month WHERE key_month = month;
          RETURN gone + its;
        END IF;
      EXCEPTION WHEN lock_not_available OR deadlock_detected THEN
        NULL;
      END;
    END IF;
    EXECUTE format('WITH old AS (SELECT ctid FROM qmemacct.job_record WHERE key_month = %s AND counted_at < $1 ORDER BY counted_at LIMIT $2 FOR UPDATE),
      gone AS (DELETE FROM qmemacct.job_record AS r USING old WHERE r.key_month = %s AND r.ctid = old.ctid RETURNING r.id),
      charts AS (DELETE FROM qmemacct.series AS s USING gone WHERE s.key_month = %s AND s.record_id = gone.id)
      SELECT count(*) FROM gone', month, month, month) INTO its USING before_time, most - gone;
    gone := gone + its;
    EXIT WHEN gone >= most;
  END LOOP;
  RETURN gone;
END $$;

-- Removes the series of some of the records that counted before a time.
CREATE FUNCTION prune_series(before_time bigint, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  month integer;
  gone integer := 0;
  its integer;
BEGIN
  FOR month IN SELECT DISTINCT key_month FROM day_month WHERE day < before_time / 86400000 ORDER BY key_month LOOP
    EXECUTE format('WITH old AS (SELECT s.ctid FROM qmemacct.series AS s JOIN qmemacct.job_record AS r ON r.id = s.record_id AND r.key_month = %s
        WHERE s.key_month = %s AND r.counted_at < $1 LIMIT $2)
      DELETE FROM qmemacct.series AS s USING old WHERE s.key_month = %s AND s.ctid = old.ctid', month, month, month)
      USING before_time, most - gone;
    GET DIAGNOSTICS its = ROW_COUNT;
    gone := gone + its;
    EXIT WHEN gone >= most;
  END LOOP;
  RETURN gone;
END $$;

-- Removes some of the sums of days before a day.
CREATE FUNCTION prune_rollups(before_day integer, most integer) RETURNS integer
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
DECLARE
  gone integer;
BEGIN
  WITH old AS (SELECT ctid FROM rollup AS u WHERE u.day < prune_rollups.before_day LIMIT most)
    DELETE FROM rollup AS u USING old WHERE u.ctid = old.ctid;
  GET DIAGNOSTICS gone = ROW_COUNT;
  RETURN gone;
END $$;

CREATE FUNCTION file_json(f imported_file) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
  SELECT jsonb_build_object('cluster', f.cluster, 'head', f.head, 'headBytes', f.head_bytes, 'path', f.path,
    'device', f.device, 'inode', f.inode, 'offset', f."offset", 'lines', f.lines)
$$;

-- Notes how far a file is read, and keeps unreadable lines aside; false: the file was not as `before` says.
CREATE FUNCTION note_file(file jsonb, before jsonb, unreadable jsonb) RETURNS boolean LANGUAGE plpgsql AS $$
DECLARE
  found imported_file;
  known jsonb := coalesce(nullif(before, 'null'), file);
BEGIN
  PERFORM pg_advisory_xact_lock(1902994801, 0);
  SELECT * INTO found FROM imported_file AS i WHERE i.cluster = file ->> 'cluster' AND i.head = known ->> 'head'
    AND i.head_bytes = (known ->> 'headBytes')::bigint;
  IF (found.id IS NULL) <> (coalesce(before, 'null') = 'null')
    OR found.id IS NOT NULL AND found."offset" <> (known ->> 'offset')::bigint
    -- Two importers that began a short file at different lengths meet where their heads become the same.
    OR EXISTS (SELECT FROM imported_file AS i WHERE i.cluster = file ->> 'cluster' AND i.head = file ->> 'head'
      AND i.head_bytes = (file ->> 'headBytes')::bigint AND i.id IS DISTINCT FROM found.id) THEN
    RETURN false;
  END IF;
  IF found.id IS NULL THEN
    INSERT INTO imported_file (cluster, head, head_bytes, path, device, inode, "offset", lines)
      VALUES (file ->> 'cluster', file ->> 'head', (file ->> 'headBytes')::bigint, file ->> 'path',
        (file ->> 'device')::bigint, (file ->> 'inode')::numeric, (file ->> 'offset')::bigint, (file ->> 'lines')::bigint)
      RETURNING * INTO found;
  ELSE
    UPDATE imported_file AS i SET head = file ->> 'head', head_bytes = (file ->> 'headBytes')::bigint, path = file ->> 'path',
      device = (file ->> 'device')::bigint, inode = (file ->> 'inode')::numeric, "offset" = (file ->> 'offset')::bigint,
      lines = (file ->> 'lines')::bigint WHERE i.id = found.id;
  END IF;
  INSERT INTO unreadable_line (file_id, "offset", reason, text)
    SELECT found.id, (u ->> 'offset')::bigint, u ->> 'reason', u ->> 'text' FROM jsonb_array_elements(unreadable) AS u
    ON CONFLICT (file_id, "offset") DO NOTHING;
  RETURN true;
END $$;

CREATE FUNCTION read_imported_files(the_cluster text) RETURNS SETOF jsonb
STABLE LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
  SELECT file_json(f) FROM imported_file AS f WHERE f.cluster = the_cluster ORDER BY f.id
$$;

CREATE FUNCTION read_unreadable_lines(the_cluster text, most integer) RETURNS SETOF jsonb
STABLE LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
  SELECT line FROM (
    SELECT jsonb_build_object('path', f.path, 'offset', u."offset", 'reason', u.reason, 'text', u.text) AS line, u.file_id, u."offset"
    FROM unreadable_line AS u JOIN imported_file AS f ON f.id = u.file_id WHERE f.cluster = the_cluster
    ORDER BY u.file_id DESC, u."offset" DESC LIMIT most) AS latest
  ORDER BY file_id, "offset"
$$;

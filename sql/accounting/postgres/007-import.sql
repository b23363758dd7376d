-- For the import: lines of Grid Engine's accounting go in as whole sets.

-- Lines of one cluster, column by column. Of their strings: the place in a list in which each stands once.
CREATE TYPE line_set AS (
  job          bigint[],
  task         bigint[],
  pe_task      text[],
  part         integer[],            -- place of the first line of the same job, task and pe task
  company      "char"[],             -- a: the only line of its part; s: one of several; t: two of them are of one run
  place        text[],               -- of a line that never started: see src/accounting/import/line-place.ts
  revision     bigint[],             -- times: ms
  submitted    bigint[],
  started      bigint[],
  ended        bigint[],
  wallclock    double precision[],
  cpu          double precision[],
  efficiency   text[],
  host         integer[],
  owner        integer[],
  job_name     integer[],
  queue        integer[],
  project      integer[],
  pe           integer[],
  account      integer[],
  slots        integer[],
  host_slots   integer[],
  exit_status  integer[],
  signal       integer[],
  failed       integer[],
  amounts      text[],               -- of the packed account, up to its category
  category     integer[],
  deleted_by   integer[],
  asked        integer[],            -- place in the lists of what is asked for
  note         integer[]
);

-- A record of the same cluster, job and task as a line that comes.
CREATE TYPE met_record AS (
  n         integer,                 -- the line's place
  month     integer,
  place     tid,
  day       integer,
  run_id    text,
  same_part boolean,
  near      boolean,                 -- of ours, and the two begin at almost one time
  joins     boolean                  -- they are of one run, and all that the line does is to fill in what is unknown
);

-- The numbers of strings, each given once; made where new, under the lock of word_id().
CREATE FUNCTION word_ids(kinds "char"[], texts text[]) RETURNS integer[] LANGUAGE plpgsql AS $$
DECLARE
  ids integer[];
BEGIN
  FOR attempt IN 1 .. 2 LOOP
    ids := ARRAY(
      SELECT (SELECT w.id FROM word AS w WHERE w.kind = g.kind
        AND hashtextextended(w.text, 0) = hashtextextended(g.text COLLATE "C", 0) AND w.text = g.text)
      FROM (SELECT unnest(kinds) AS kind, unnest(texts) AS text) AS g);
    EXIT WHEN array_position(ids, NULL) IS NULL;
    PERFORM pg_advisory_xact_lock(1902994798, 0);
    INSERT INTO word (kind, text)
      SELECT g.kind, g.text FROM unnest(kinds, texts) AS g (kind, text)
      WHERE NOT EXISTS (SELECT FROM word AS w WHERE w.kind = g.kind
        AND hashtextextended(w.text, 0) = hashtextextended(g.text COLLATE "C", 0) AND w.text = g.text);
  END LOOP;
  RETURN ids;
END $$;

-- In which months jobs occur that have been added (those of which `is_new` is true), under the lock of word_id().
CREATE FUNCTION note_jobs(is_new boolean[], jobs bigint[], months integer[]) RETURNS void LANGUAGE plpgsql AS $$
DECLARE
  missing job_month[] := ARRAY(
    SELECT ROW(u.block, u.month)::job_month
    FROM (SELECT DISTINCT v.job / 1024 AS block, v.month
      FROM (SELECT unnest(is_new) AS is_new, unnest(jobs) AS job, unnest(months) AS month) AS v WHERE v.is_new) AS u
    WHERE NOT EXISTS (SELECT FROM job_month AS m WHERE m.block = u.block AND m.key_month = u.month));
BEGIN
  IF cardinality(missing) = 0 THEN RETURN; END IF;
  PERFORM pg_advisory_xact_lock(1902994798, 0);
  INSERT INTO job_month (block, key_month) SELECT m.block, m.key_month FROM unnest(missing) AS m ON CONFLICT DO NOTHING;
END $$;

-- The lines of a set one by one; `ways`, `months` and `runs`: what is known of each.
CREATE FUNCTION lines_of(l line_set, ways "char"[], months integer[], runs text[])
RETURNS TABLE (n integer, way "char", month integer, run text, job bigint, task bigint, pe_task text, revision bigint,
  submitted bigint, started bigint, ended bigint, wallclock double precision, cpu double precision, efficiency text,
  host integer, owner integer, job_name integer, queue integer, project integer, pe integer, account integer,
  slots integer, host_slots integer, exit_status integer, signal integer, failed integer, amounts text,
  category integer, deleted_by integer, asked integer, note integer)
STABLE LANGUAGE sql AS $$
  SELECT generate_series(1, cardinality(ways)), unnest(ways), unnest(months), unnest(runs), unnest(l.job), unnest(l.task),
    unnest(l.pe_task), unnest(l.revision), unnest(l.submitted), unnest(l.started), unnest(l.ended), unnest(l.wallclock),
    unnest(l.cpu), unnest(l.efficiency), unnest(l.host), unnest(l.owner), unnest(l.job_name), unnest(l.queue),
    unnest(l.project), unnest(l.pe), unnest(l.account), unnest(l.slots), unnest(l.host_slots), unnest(l.exit_status),
    unnest(l.signal), unnest(l.failed), unnest(l.amounts), unnest(l.category), unnest(l.deleted_by), unnest(l.asked),
    unnest(l.note)
$$;

-- Takes lines in as put() does one by one, most of them as sets: those that nothing is known of (way a), and those that
-- fill in what one record of ours lacks (j); the others go through put() (c). Notes how far the file is read:
-- {"added": n, "joined": n, "unchanged": n}, or {"conflict": true}.
-- `vmem_asked` and `others_asked`: what lines ask for, as h_vmem and requests of an account, each once.
CREATE FUNCTION import_set(file jsonb, before jsonb, unreadable jsonb, kinds "char"[], texts text[],
  vmem_asked text[], others_asked jsonb, notes text[], l line_set) RETURNS jsonb
LANGUAGE plpgsql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp
-- A plan made while a table is empty must do once it is full; a set fits into memory.
SET enable_seqscan = off SET jit = off SET work_mem = '64MB' AS $$
DECLARE
  size CONSTANT integer := cardinality(l.job);
  latest CONSTANT bigint := (extract(epoch FROM now()) + 5356800) * 1000;
  months integer[];
  runs text[];
  words integer[];
  requests_asked jsonb[];
  packed_asked text[];
  packed_notes text[];
  ways "char"[];
  met met_record[] := '{}';
  its_met met_record[];
  one met_record;
  careful integer[];
  a_month integer;
  line record;
  a account;
  its_change text;
  its_days integer[];
  days integer[] := '{}';
  careful_days integer[] := '{}';
  added integer;
  joined integer := 0;
  unchanged integer := 0;
  its integer;
BEGIN
  -- A snapshot from before the locks would not show what others have just added.
  IF current_setting('transaction_isolation') <> 'read committed' THEN
    RAISE EXCEPTION 'import_set() needs READ COMMITTED' USING ERRCODE = 'feature_not_supported';
  END IF;
  IF NOT note_file(file, before, unreadable) THEN RETURN '{"conflict": true}'; END IF;
  IF size = 0 THEN RETURN '{"added": 0, "joined": 0, "unchanged": 0}'; END IF;

  -- As month_of().
  months := ARRAY(SELECT CASE WHEN ms < 946684800000 OR ms > latest THEN 0
      ELSE (date_part('year', date '1970-01-01' + (ms / 86400000)::integer) * 100
        + date_part('month', date '1970-01-01' + (ms / 86400000)::integer))::integer END
    FROM (SELECT coalesce(u.started, u.submitted, u.revision) AS ms
      FROM (SELECT unnest(l.started) AS started, unnest(l.submitted) AS submitted, unnest(l.revision) AS revision) AS u) AS v);
  FOR a_month IN SELECT DISTINCT m FROM unnest(months) AS m ORDER BY m LOOP
    PERFORM ensure_month(a_month);
  END LOOP;
  -- Locks in the order in which deliver_all() takes them.
  PERFORM lock_jobs(l.job);
  words := word_ids(kinds, texts);
  requests_asked := ARRAY(
    SELECT (SELECT jsonb_object_agg(word_id('x', key), value) FROM jsonb_each_text(item))
    FROM jsonb_array_elements(others_asked) WITH ORDINALITY AS e (item, n) ORDER BY n);
  packed_asked := ARRAY(SELECT pack_map(map) FROM unnest(requests_asked) WITH ORDINALITY AS u (map, n) ORDER BY n);
  packed_notes := ARRAY(SELECT pack_notes(ARRAY[note]) FROM unnest(notes) WITH ORDINALITY AS u (note, n) ORDER BY n);

  FOR a_month IN SELECT DISTINCT key_month FROM job_month
    WHERE block = ANY (ARRAY(SELECT DISTINCT j / 1024 FROM unnest(l.job) AS j)) ORDER BY key_month
  LOOP
    -- Locked: nobody prunes them before they are joined.
    EXECUTE format($sql$
      SELECT array_agg(ROW(l.n, %1$s, r.place, r.day, r.run_id, r.pe_task_id IS NOT DISTINCT FROM l.pe_task,
        (r.pe_task_id IS NOT DISTINCT FROM l.pe_task AND r.run_id NOT LIKE 'accounting.%%'
          AND abs(r.started_at - l.started) <= 2000) IS TRUE,
        (r.failed IS NULL AND r.provenance IS NULL AND qmemacct.is_final(r.stamp) AND r.stamp > l.stamp
          AND qmemacct.verdict_order(r.status, r.stamp) > qmemacct.verdict_order('u', l.stamp)
          AND coalesce(r.owner_id = $1[l.owner], true)
          AND CASE WHEN r.host_id = $1[l.host] THEN true ELSE qmemacct.same_host(r.host_id, $1[l.host]) END
          AND (l.efficiency IS NULL OR left(r.counters, 1) <> ',')
          AND CASE WHEN $2[l.asked] IS NULL THEN true
            ELSE qmemacct.unpack_map(r.requests) ?& ARRAY(SELECT jsonb_object_keys($2[l.asked])) END) IS TRUE
        )::qmemacct.met_record)
      FROM (SELECT unnest($3) AS n, unnest($4) AS job, unnest($5) AS task, unnest($6) AS pe_task, unnest($7) AS started,
          qmemacct.stamp_of('accounting', true, unnest($8)) AS stamp, unnest($9) AS host, unnest($10) AS owner,
          unnest($11) AS efficiency, unnest($12) AS asked) AS l
      CROSS JOIN LATERAL (
        SELECT r.ctid AS place, (r.counted_at / 86400000)::integer AS day, r.run_id, r.pe_task_id, r.started_at, r.host_id,
          r.owner_id, r.failed, r.provenance, r.stamp, r.status, r.counters, r.requests
        FROM qmemacct.job_record_%1$s AS r
        WHERE r.job_id = l.job AND coalesce(r.task_id, 0) = coalesce(l.task, 0) AND r.cluster_id = $13 FOR UPDATE) AS r
      WHERE l.job / 1024 = ANY ($14) $sql$, a_month)
      INTO its_met
      USING words, requests_asked, ARRAY(SELECT generate_series(1, size)), l.job, l.task, l.pe_task, l.started, l.revision,
        l.host, l.owner, l.efficiency, l.asked, words[1], ARRAY(SELECT m.block FROM job_month AS m WHERE m.key_month = a_month);
    met := met || its_met;
  END LOOP;

  -- The runs that the lines stand for, as lineRunId() of src/accounting/import/line-record.ts names them.
  runs := ARRAY(
    SELECT 'accounting.' || CASE WHEN u.started IS NOT NULL THEN (u.started / 1000)::text
      ELSE '0.' || coalesce(u.submitted, 0) / 1000 || '.' || u.place END
    FROM (SELECT unnest(l.started) AS started, unnest(l.submitted) AS submitted, unnest(l.place) AS place) AS u);

  ways := array_fill('a'::"char", ARRAY[size]);
  FOREACH one IN ARRAY met LOOP
    IF one.near THEN
      ways[one.n] := CASE WHEN ways[one.n] = 'a' AND one.joins AND l.company[one.n] = 'a' THEN 'j' ELSE 'c' END;
    ELSIF one.same_part AND one.run_id = runs[one.n] THEN
      ways[one.n] := 'c';
    END IF;
  END LOOP;
  -- Of several lines of one part none overtakes another.
  careful := ARRAY(SELECT DISTINCT u.part
    FROM (SELECT unnest(l.part) AS part, unnest(l.company) AS company, unnest(ways) AS way) AS u
    WHERE u.company = 't' OR u.company = 's' AND u.way = 'c');
  IF cardinality(careful) > 0 THEN
    ways := ARRAY(SELECT CASE WHEN u.part = ANY (careful) THEN 'c' ELSE u.way END
      FROM (SELECT unnest(l.part) AS part, unnest(ways) AS way) AS u);
  END IF;

  -- As account_of() and row_of() do.
  INSERT INTO job_record (id, job_id, task_id, stamp, counted_at, submitted_at, started_at, ended_at, h_vmem_request,
      h_vmem_limit, wallclock, cpu, key_month, cluster_id, host_id, owner_id, job_name_id, queue_id, project_id, pe_id,
      account_id, slots, host_slots, exit_status, signal, failed, status, h_vmem_per, run_id, pe_task_id, counters,
      grid_engine, requests, notes)
    SELECT nextval('qmemacct.record_id'), u.job, u.task, stamp_of('accounting', true, u.revision), u.revision, u.submitted,
      u.started, u.ended, nullif(split_part(vmem_asked[u.asked], ':', 1), '')::bigint,
      nullif(split_part(vmem_asked[u.asked], ':', 2), '')::bigint, u.wallclock, u.cpu, u.month, words[1], words[u.host],
      words[u.owner], words[u.job_name], words[u.queue], words[u.project], words[u.pe], words[u.account], u.slots,
      u.host_slots, u.exit_status, u.signal, u.failed, 'u', split_part(vmem_asked[u.asked], ':', 3)::"char", u.run,
      u.pe_task, u.efficiency, concat(u.amounts, words[u.category], ':', words[u.deleted_by], ':1'),
      packed_asked[u.asked], packed_notes[u.note]
    FROM lines_of(l, ways, months, runs) AS u WHERE u.way = 'a';
  GET DIAGNOSTICS added = ROW_COUNT;
  days := ARRAY(SELECT DISTINCT u.revision / 86400000
    FROM (SELECT unnest(ways) AS way, unnest(l.revision) AS revision) AS u WHERE u.way = 'a');
  PERFORM note_day(u.day * 86400000, u.month) FROM (
    SELECT DISTINCT v.revision / 86400000 AS day, v.month
    FROM (SELECT unnest(ways) AS way, unnest(l.revision) AS revision, unnest(months) AS month) AS v
    WHERE v.way = 'a') AS u;
  PERFORM note_jobs(ARRAY(SELECT unnest(ways) = 'a'), l.job, months);

  -- As merged() does with a record whose every value outranks the line's.
  FOR a_month IN SELECT DISTINCT m.month FROM unnest(met) AS m WHERE m.near AND m.joins LOOP
    EXECUTE format($sql$
      WITH changed AS (
        UPDATE qmemacct.job_record_%1$s AS r SET
          counted_at = coalesce(r.ended_at, u.ended, r.started_at),
          submitted_at = coalesce(r.submitted_at, u.submitted), ended_at = coalesce(r.ended_at, u.ended),
          h_vmem_request = CASE WHEN r.h_vmem_per IS NULL THEN nullif(split_part($6[u.asked], ':', 1), '')::bigint ELSE r.h_vmem_request END,
          h_vmem_limit = CASE WHEN r.h_vmem_per IS NULL THEN nullif(split_part($6[u.asked], ':', 2), '')::bigint ELSE r.h_vmem_limit END,
          h_vmem_per = coalesce(r.h_vmem_per, split_part($6[u.asked], ':', 3)::"char"),
          wallclock = coalesce(r.wallclock, u.wallclock), cpu = coalesce(r.cpu, u.cpu),
          owner_id = coalesce(r.owner_id, $5[u.owner]), job_name_id = coalesce(r.job_name_id, $5[u.job_name]),
          queue_id = coalesce(r.queue_id, $5[u.queue]), project_id = coalesce(r.project_id, $5[u.project]),
          pe_id = coalesce(r.pe_id, $5[u.pe]), account_id = coalesce(r.account_id, $5[u.account]),
          slots = coalesce(r.slots, u.slots), host_slots = coalesce(r.host_slots, u.host_slots),
          exit_status = coalesce(r.exit_status, u.exit_status), signal = coalesce(r.signal, u.signal), failed = u.failed,
          grid_engine = coalesce(r.grid_engine, concat(u.amounts, $5[u.category], ':', $5[u.deleted_by], ':1')),
          provenance = qmemacct.stamp_of('accounting', true, u.revision) || ':' || concat_ws(',',
            CASE WHEN r.owner_id IS NULL AND u.owner IS NOT NULL THEN 1 END,
            CASE WHEN r.ended_at IS NULL AND u.ended IS NOT NULL THEN 11 END,
            CASE WHEN r.exit_status IS NULL THEN 12 END,
            CASE WHEN r.signal IS NULL AND u.signal IS NOT NULL THEN 13 END,
            14,
            CASE WHEN r.h_vmem_per IS NULL AND $6[u.asked] IS NOT NULL THEN 15 END,
            CASE WHEN r.job_name_id IS NULL AND u.job_name IS NOT NULL THEN 2 END,
            CASE WHEN r.wallclock IS NULL THEN 21 END,
            CASE WHEN r.cpu IS NULL THEN 22 END,
            CASE WHEN r.queue_id IS NULL AND u.queue IS NOT NULL THEN 3 END,
            CASE WHEN r.project_id IS NULL AND u.project IS NOT NULL THEN 4 END,
            CASE WHEN r.grid_engine IS NULL THEN 42 END,
            CASE WHEN r.pe_id IS NULL AND u.pe IS NOT NULL THEN 5 END,
            CASE WHEN r.account_id IS NULL AND u.account IS NOT NULL THEN 6 END,
            CASE WHEN r.slots IS NULL AND u.slots IS NOT NULL THEN 7 END,
            CASE WHEN r.host_slots IS NULL AND u.host_slots IS NOT NULL THEN 8 END,
            CASE WHEN r.submitted_at IS NULL AND u.submitted IS NOT NULL THEN 9 END)
        FROM (SELECT m.place, u.* FROM unnest($7) AS m JOIN qmemacct.lines_of($1, $2, $3, $4) AS u ON u.n = m.n
          WHERE u.way = 'j' AND m.near AND m.month = %1$s) AS u
        WHERE r.ctid = u.place
        RETURNING r.counted_at)
      SELECT count(*), array_agg(DISTINCT counted_at / 86400000) FROM changed $sql$, a_month)
      INTO its, its_days USING l, ways, months, runs, words, vmem_asked, met;
    joined := joined + its;
    days := days || its_days;
    PERFORM note_day(day * 86400000::bigint, a_month) FROM unnest(its_days) AS day;
  END LOOP;
  IF joined <> (SELECT count(*) FROM unnest(ways) AS way WHERE way = 'j') THEN
    RAISE EXCEPTION 'records that were locked have gone' USING ERRCODE = 'serialization_failure';
  END IF;
  -- What the other records of the job add to sums may depend on a line: jobs are counted once, hosts once.
  days := days || ARRAY(SELECT DISTINCT m.day FROM unnest(met) AS m
    JOIN unnest(ways) WITH ORDINALITY AS u (way, n) ON u.n = m.n WHERE u.way <> 'c');

  INSERT INTO stale_day (day) SELECT DISTINCT d FROM unnest(days) AS d;
  IF NOT 'c' = ANY (ways) THEN
    RETURN jsonb_build_object('added', added, 'joined', joined, 'unchanged', 0);
  END IF;

  a.metrics := '{}';
  a.stamps := '{}';
  a.s := array_fill(NULL::bigint, ARRAY[42]);
  a.cluster_id := words[1];
  a.status := 'u';
  FOR line IN
    SELECT u.*, ARRAY[words[u.owner]::text, words[u.job_name]::text, words[u.queue]::text, words[u.project]::text,
      words[u.pe]::text, words[u.account]::text, u.slots::text, u.host_slots::text, u.submitted::text, u.started::text,
      u.ended::text, u.exit_status::text, u.signal::text, u.failed::text, vmem_asked[u.asked], NULL, NULL, NULL, NULL, NULL,
      u.wallclock::text, u.cpu::text, u.efficiency] || array_fill(NULL::text, ARRAY[18])
      || concat(u.amounts, words[u.category], ':', words[u.deleted_by], ':1') AS v
    FROM lines_of(l, ways, months, runs) AS u WHERE u.way = 'c' ORDER BY u.n
  LOOP
    a.job_id := line.job;
    a.task_id := line.task;
    a.pe_task_id := line.pe_task;
    a.host_id := words[line.host];
    a.run_id := line.run;
    a.stamp := stamp_of('accounting', true, line.revision);
    a.status_stamp := a.stamp;
    a.notes := packed_notes[line.note];
    a.v := line.v;
    a.requests := coalesce(requests_asked[line.asked], '{}');
    SELECT p.change, p.days INTO its_change, its_days FROM put(a, line.month) AS p;
    careful_days := careful_days || its_days;
    IF its_change = 'added' THEN added := added + 1;
    ELSIF its_change = 'changed' THEN joined := joined + 1;
    ELSE unchanged := unchanged + 1;
    END IF;
  END LOOP;
  INSERT INTO stale_day (day) SELECT DISTINCT d FROM unnest(careful_days) AS d;
  RETURN jsonb_build_object('added', added, 'joined', joined, 'unchanged', unchanged);
END $$;

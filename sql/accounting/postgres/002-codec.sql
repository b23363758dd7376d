-- A record in three forms: the published JSON; an `account`, which is what is merged; and a row of `job_record`.
--
-- An account's `v` holds the merged fields by number (src/record/merge.ts, MERGED_FIELDS; 1 owner ... 42 grid_engine)
-- as text, NULL where unknown; equal text means equal value:
--   words        the number of the string
--   times        ms since the epoch
--   h_vmem, requests          request:limit:s|j
--   peaks        flags:lower:width:slack:open:sources:at:command; flags: 1 proved, 2 exact; open and sources: bit sets
--   sampler      cpu_seconds:max_rss_bytes:mode
--   series       start:step:unit:point,change,change ...
--   granted_hosts             host:slots,host:slots ...
--   grid_engine  amounts by name order, category, deleted_by, lines
-- Rows hold the same, but for peaks (`shorter`).

CREATE DOMAIN whole AS bigint CHECK (VALUE BETWEEN 0 AND 9007199254740991);
CREATE DOMAIN slots AS integer CHECK (VALUE >= 0);
CREATE DOMAIN signed_word AS integer CHECK (VALUE > -2147483648);
CREATE DOMAIN span AS double precision CHECK (VALUE >= 0 AND VALUE <= 1e12);
CREATE DOMAIN amount AS double precision CHECK (VALUE >= 0 AND VALUE <= 1e30);
CREATE DOMAIN moment AS text CHECK (VALUE ~ '^(19[789]\d|[2-9]\d\d\d)-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{1,9})?Z$');
CREATE DOMAIN string AS text COLLATE "C" CHECK (octet_length(VALUE) <= 4096);
CREATE DOMAIN filled AS text COLLATE "C" CHECK (octet_length(VALUE) BETWEEN 1 AND 4096);

CREATE TYPE incoming_bracket AS (
  lower_bytes qmemacct.whole, upper_bytes qmemacct.whole, slack_bytes qmemacct.whole, proved boolean, exact boolean,
  open text[], sources text[], at qmemacct.moment, command qmemacct.string);
CREATE TYPE incoming_request AS (request_bytes qmemacct.whole, limit_bytes qmemacct.whole, per text);
CREATE TYPE incoming_grant AS (host qmemacct.filled, slots qmemacct.whole);
CREATE TYPE incoming_sampler AS (cpu_seconds qmemacct.span, max_rss_bytes qmemacct.whole, mode text);
CREATE TYPE incoming_series AS (start qmemacct.moment, step_seconds qmemacct.span, rss_bytes qmemacct.whole[]);
CREATE TYPE incoming_account AS (
  wallclock_seconds qmemacct.span, cpu_seconds qmemacct.span, user_seconds qmemacct.span, system_seconds qmemacct.span,
  maxvmem_bytes qmemacct.whole, maxrss_bytes qmemacct.whole, mem_gib_seconds qmemacct.amount, io_gib qmemacct.amount,
  category qmemacct.string, deleted_by qmemacct.string, lines qmemacct.whole);
CREATE TYPE incoming AS (
  cluster qmemacct.filled, job_id qmemacct.whole, task_id qmemacct.whole, pe_task_id qmemacct.filled, host qmemacct.filled,
  run_id qmemacct.filled, owner qmemacct.string, job_name qmemacct.string, queue qmemacct.string, project qmemacct.string,
  pe qmemacct.string, account qmemacct.string, slots qmemacct.slots, host_slots qmemacct.slots,
  granted_hosts qmemacct.incoming_grant[], submitted_at qmemacct.moment, started_at qmemacct.moment,
  ended_at qmemacct.moment, exit_status qmemacct.signed_word, signal qmemacct.signed_word,
  failed qmemacct.signed_word, status text, trust text, h_vmem qmemacct.incoming_request, requests jsonb,
  peak_rss qmemacct.incoming_bracket, peak_rss_swap qmemacct.incoming_bracket, peak_vmem qmemacct.incoming_bracket,
  peak_process_vmem qmemacct.incoming_bracket, peak_footprint qmemacct.incoming_bracket,
  wallclock_seconds qmemacct.span, cpu_seconds qmemacct.span, processes qmemacct.whole, max_processes qmemacct.whole, max_threads qmemacct.whole,
  read_bytes qmemacct.whole, written_bytes qmemacct.whole, read_chars qmemacct.whole, written_chars qmemacct.whole,
  claimed_by_tree_only qmemacct.whole, claimed_by_group_only qmemacct.whole, samples qmemacct.whole,
  interval_seconds qmemacct.span, longest_gap_seconds qmemacct.span, unobserved_start_seconds qmemacct.span,
  rss_byte_seconds qmemacct.amount, sampler qmemacct.incoming_sampler, grid_engine qmemacct.incoming_account,
  metrics jsonb, series qmemacct.incoming_series, notes qmemacct.string[], revision qmemacct.whole);

CREATE TYPE account AS (
  job_id bigint, task_id bigint, pe_task_id text, cluster_id integer, host_id integer, run_id text,
  stamp bigint, status "char", status_stamp bigint, notes text,
  v text[], s bigint[],              -- values and, where it is not the record's own, their stamps
  requests jsonb, metrics jsonb,     -- number of the name -> value
  stamps jsonb                       -- r or m, number of the name -> stamp, where it is not the record's own
);

-- The number of a string, made where new: under a lock until the transaction ends, so no string has two.
CREATE FUNCTION word_id(the_kind "char", the_text text) RETURNS integer LANGUAGE plpgsql AS $$
DECLARE
  found integer;
BEGIN
  IF the_text IS NULL THEN RETURN NULL; END IF;
  SELECT id INTO found FROM word
    WHERE kind = the_kind AND hashtextextended(text, 0) = hashtextextended(the_text COLLATE "C", 0) AND text = the_text;
  IF found IS NOT NULL THEN RETURN found; END IF;
  PERFORM pg_advisory_xact_lock(1902994798, 0);
  SELECT id INTO found FROM word
    WHERE kind = the_kind AND hashtextextended(text, 0) = hashtextextended(the_text COLLATE "C", 0) AND text = the_text;
  IF found IS NULL THEN
    INSERT INTO word (kind, text) VALUES (the_kind, the_text) RETURNING id INTO found;
  END IF;
  RETURN found;
END $$;

CREATE FUNCTION word_text(the_id integer) RETURNS text STABLE LANGUAGE sql AS
  'SELECT text FROM word WHERE id = the_id';

-- Of a string that is known; NULL otherwise.
CREATE FUNCTION known_word(the_kind "char", the_text text) RETURNS integer STABLE LANGUAGE sql AS $$
  SELECT id FROM word
  WHERE kind = the_kind AND hashtextextended(text, 0) = hashtextextended(the_text COLLATE "C", 0) AND text = the_text
$$;

-- plpgsql is the faster language for a function that can't be inlined.
CREATE FUNCTION to_ms(moment text) RETURNS bigint IMMUTABLE STRICT LANGUAGE plpgsql AS $$
BEGIN
  RETURN floor(extract(epoch FROM moment::timestamptz) * 1000);
END $$;
-- In whole numbers: a double has no room for the ms of the year 9999.
CREATE FUNCTION to_time(ms bigint) RETURNS text IMMUTABLE STRICT LANGUAGE sql AS $$
  SELECT to_char(date '1970-01-01' + (ms / 86400000)::integer + (ms % 86400000) * interval '1 ms',
    'YYYY-MM-DD"T"HH24:MI:SS.MS"Z"')
$$;

-- The month that a record is kept in. One that no clock should show gets 0, or a hostile node would have us make a
-- table for every month until the year 9999.
CREATE FUNCTION month_of(ms bigint) RETURNS integer STABLE LANGUAGE plpgsql AS $$
DECLARE
  day date;
BEGIN
  IF ms < 946684800000 OR ms > (extract(epoch FROM now()) + 5356800) * 1000 THEN RETURN 0; END IF;
  day := date '1970-01-01' + (ms / 86400000)::integer;
  RETURN extract(year FROM day) * 100 + extract(month FROM day);
END $$;

CREATE FUNCTION bits(items text[], vocabulary text[], what text) RETURNS integer IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  mask integer := 0;
  item text;
  place integer;
BEGIN
  IF items IS NULL OR cardinality(items) > cardinality(vocabulary) THEN
    RAISE EXCEPTION '% is not a list', what USING ERRCODE = 'data_exception';
  END IF;
  FOREACH item IN ARRAY items LOOP
    place := array_position(vocabulary, item);
    IF place IS NULL THEN
      RAISE EXCEPTION '% has an unknown word', what USING ERRCODE = 'data_exception';
    END IF;
    mask := mask | (1 << (place - 1));
  END LOOP;
  RETURN mask;
END $$;

CREATE FUNCTION unbits(mask integer, vocabulary text[]) RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT coalesce(array_agg(item ORDER BY n), '{}')
  FROM unnest(vocabulary) WITH ORDINALITY AS u (item, n) WHERE mask & (1 << (n::integer - 1)) <> 0
$$;

-- Append only, as OPEN_REASONS and BRACKET_SOURCES of src/record/fields.ts.
CREATE FUNCTION open_reasons() RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT '{no-lineage,no-exit-records,no-samples,start-gap,end-gap,exec,failed-read,fallen-mark,sampler-lost,no-page-accounting,lost-records,listener-lost,unknown-origin,swap,unseen-host,unseen-task}'::text[]
$$;
CREATE FUNCTION bracket_sources() RETURNS text[] IMMUTABLE LANGUAGE sql AS
  $$ SELECT '{sample,mark,usage,exit-record,cgroup,limit}'::text[] $$;

CREATE FUNCTION pack_bracket(b incoming_bracket) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  -- "b IS NULL" would be true of a bracket of nulls, too.
  IF b IS NOT DISTINCT FROM NULL THEN RETURN NULL; END IF;
  IF b.lower_bytes IS NULL OR b.slack_bytes IS NULL OR b.proved IS NULL OR b.exact IS NULL
    OR b.upper_bytes < b.lower_bytes THEN
    RAISE EXCEPTION 'a peak has no proper ends' USING ERRCODE = 'data_exception';
  END IF;
  RETURN concat(b.proved::integer + 2 * b.exact::integer, ':', b.lower_bytes, ':', b.upper_bytes - b.lower_bytes, ':',
    b.slack_bytes, ':', bits(b.open, open_reasons(), 'open'), ':', bits(b.sources, bracket_sources(), 'sources'), ':',
    to_ms(b.at), ':', word_id('k', b.command));
END $$;

CREATE FUNCTION pack_request(r incoming_request) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF r IS NOT DISTINCT FROM NULL THEN RETURN NULL; END IF;
  IF r.per IS NULL OR r.per NOT IN ('slot', 'job') THEN
    RAISE EXCEPTION 'a request is neither per slot nor per job' USING ERRCODE = 'data_exception';
  END IF;
  RETURN concat(r.request_bytes, ':', r.limit_bytes, ':', left(r.per, 1));
END $$;

CREATE FUNCTION pack_series(s incoming_series) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  unit bigint := 1024;
  changes text;
BEGIN
  IF s IS NOT DISTINCT FROM NULL THEN RETURN NULL; END IF;
  IF s.start IS NULL OR s.step_seconds IS NULL OR s.rss_bytes IS NULL OR cardinality(s.rss_bytes) > 240
    OR array_position(s.rss_bytes::bigint[], NULL) IS NOT NULL THEN
    RAISE EXCEPTION 'a series is not one' USING ERRCODE = 'data_exception';
  END IF;
  IF EXISTS (SELECT FROM unnest(s.rss_bytes) AS p WHERE p % 1024 <> 0) THEN unit := 1; END IF;
  SELECT string_agg((change / unit)::text, ',' ORDER BY n) INTO changes
    FROM (SELECT n, p - coalesce(lag(p) OVER (ORDER BY n), 0) AS change
          FROM unnest(s.rss_bytes::bigint[]) WITH ORDINALITY AS u (p, n)) AS c;
  RETURN concat(to_ms(s.start), ':', s.step_seconds + 0, ':', unit, ':', changes);
END $$;

-- Notes repeat but for their numbers.
CREATE FUNCTION pack_notes(notes text[]) RETURNS text LANGUAGE sql AS $$
  SELECT coalesce(string_agg(
    CASE WHEN position(chr(1) IN note) > 0 THEN word_id('t', note)::text || ':'
    ELSE word_id('t', regexp_replace(note, '\d+', chr(1), 'g'))::text || ':' ||
      coalesce((SELECT string_agg(m[1], ',' ORDER BY i) FROM regexp_matches(note, '\d+', 'g') WITH ORDINALITY AS r (m, i)), '')
    END, ';' ORDER BY n), '')
  FROM unnest(notes) WITH ORDINALITY AS u (note, n)
$$;

CREATE FUNCTION unpack_notes(packed text) RETURNS jsonb STABLE LANGUAGE plpgsql AS $$
DECLARE
  notes jsonb := '[]';
  part text;
  template text;
  digits text;
BEGIN
  IF packed = '' THEN RETURN notes; END IF;
  FOREACH part IN ARRAY string_to_array(packed, ';') LOOP
    template := word_text(split_part(part, ':', 1)::integer);
    IF split_part(part, ':', 2) <> '' THEN
      FOREACH digits IN ARRAY string_to_array(split_part(part, ':', 2), ',') LOOP
        template := substr(template, 1, position(chr(1) IN template) - 1) || digits
          || substr(template, position(chr(1) IN template) + 1);
      END LOOP;
    END IF;
    notes := notes || to_jsonb(template);
  END LOOP;
  RETURN notes;
END $$;

CREATE FUNCTION stamp_of(trust text, ended boolean, revision bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS $$
  SELECT ((array_position('{self-reported,accounting,usage,root}'::text[], trust) - 1)::bigint << 55)
    | (ended::integer::bigint << 54) | revision
$$;
CREATE FUNCTION revision_of(stamp bigint) RETURNS bigint IMMUTABLE LANGUAGE sql AS
  'SELECT stamp & 18014398509481983';
CREATE FUNCTION stamp_json(stamp bigint) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
  SELECT jsonb_build_object('trust', ('{self-reported,accounting,usage,root}'::text[])[(stamp >> 55) + 1],
    'ended', stamp & 18014398509481984 <> 0, 'revision', stamp & 18014398509481983)
$$;

-- A record of the published JSON, every field of its type and within its bounds. Raises what is wrong with it.
CREATE FUNCTION checked(given jsonb) RETURNS incoming IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  r incoming;
BEGIN
  IF jsonb_typeof(given) IS DISTINCT FROM 'object' THEN
    RAISE EXCEPTION 'the record is not an object' USING ERRCODE = 'data_exception';
  END IF;
  IF pg_column_size(given) > 1048576 THEN
    RAISE EXCEPTION 'the record is larger than a record can be' USING ERRCODE = 'data_exception';
  END IF;
  r := jsonb_populate_record(NULL::incoming, given);
  IF r.cluster IS NULL OR r.job_id IS NULL OR r.host IS NULL OR r.run_id IS NULL OR r.revision IS NULL
    OR r.job_id < 1 OR r.task_id < 1 THEN
    RAISE EXCEPTION 'the record has no proper key' USING ERRCODE = 'data_exception';
  END IF;
  IF r.status IS NULL OR r.status NOT IN ('finished', 'running', 'lost', 'unsampled')
    OR r.trust IS NULL OR r.trust NOT IN ('root', 'usage', 'accounting', 'self-reported') THEN
    RAISE EXCEPTION 'the record has an unknown status or trust' USING ERRCODE = 'data_exception';
  END IF;
  IF cardinality(r.notes) > 64 OR array_position(r.notes::text[], NULL) IS NOT NULL
    OR cardinality(r.granted_hosts) > 4096 THEN
    RAISE EXCEPTION 'the record has too many notes or hosts' USING ERRCODE = 'data_exception';
  END IF;
  r.requests := coalesce(nullif(r.requests, 'null'), '{}');
  r.metrics := coalesce(nullif(r.metrics, 'null'), '{}');
  IF jsonb_typeof(r.requests) <> 'object' OR jsonb_typeof(r.metrics) <> 'object'
    OR (SELECT count(*) > 64 OR NOT coalesce(bool_and(k ~ '^[^[:space:][:cntrl:]=,;:/]{1,128}$' AND jsonb_typeof(v) = 'object'), true)
        FROM jsonb_each(r.requests) AS e (k, v))
    OR (SELECT count(*) > 1000 OR NOT coalesce(bool_and(k ~ '^[a-z][a-z0-9_]{0,127}$' AND jsonb_typeof(v) = 'number'), true)
        FROM jsonb_each(r.metrics) AS e (k, v)) THEN
    RAISE EXCEPTION 'the record has requests or metrics that are none' USING ERRCODE = 'data_exception';
  END IF;
  -- What can still be wrong is found out here, before anything is written.
  PERFORM pack_request(jsonb_populate_record(NULL::incoming_request, v)) FROM jsonb_each(r.requests) AS e (k, v);
  PERFORM v::text::double precision FROM jsonb_each(r.metrics) AS e (k, v);
  PERFORM pack_request(r.h_vmem), pack_series(r.series), to_ms(r.submitted_at), to_ms(r.started_at), to_ms(r.ended_at);
  PERFORM check_bracket(r.peak_rss), check_bracket(r.peak_rss_swap), check_bracket(r.peak_vmem),
    check_bracket(r.peak_process_vmem), check_bracket(r.peak_footprint);
  IF EXISTS (SELECT FROM unnest(r.granted_hosts) AS g WHERE g.host IS NULL OR g.slots IS NULL)
    OR (r.grid_engine IS DISTINCT FROM NULL AND ((r.grid_engine).wallclock_seconds IS NULL
      OR (r.grid_engine).cpu_seconds IS NULL OR (r.grid_engine).lines IS NULL OR (r.grid_engine).lines < 1))
    OR (r.sampler IS DISTINCT FROM NULL AND ((r.sampler).cpu_seconds IS NULL OR (r.sampler).max_rss_bytes IS NULL
      OR (r.sampler).mode IS NULL OR (r.sampler).mode NOT IN ('full', 'small'))) THEN
    RAISE EXCEPTION 'the record lacks a part' USING ERRCODE = 'data_exception';
  END IF;
  RETURN r;
END $$;

CREATE FUNCTION check_bracket(b incoming_bracket) RETURNS void IMMUTABLE LANGUAGE plpgsql AS $$
BEGIN
  IF b IS NOT DISTINCT FROM NULL THEN RETURN; END IF;
  IF b.lower_bytes IS NULL OR b.slack_bytes IS NULL OR b.proved IS NULL OR b.exact IS NULL
    OR b.upper_bytes < b.lower_bytes THEN
    RAISE EXCEPTION 'a peak has no proper ends' USING ERRCODE = 'data_exception';
  END IF;
  PERFORM bits(b.open, open_reasons(), 'open'), bits(b.sources, bracket_sources(), 'sources'), to_ms(b.at);
END $$;

-- A checked record as an account. New strings are added.
CREATE FUNCTION account_of(r incoming) RETURNS account LANGUAGE plpgsql AS $$
DECLARE
  a account;
BEGIN
  a.job_id := r.job_id;
  a.task_id := r.task_id;
  a.pe_task_id := r.pe_task_id;
  a.cluster_id := word_id('c', r.cluster);
  a.host_id := word_id('h', r.host);
  a.run_id := r.run_id;
  a.stamp := stamp_of(r.trust, r.status <> 'running', r.revision);
  a.status := left(r.status, 1)::"char";
  a.status_stamp := a.stamp;
  a.notes := CASE WHEN cardinality(r.notes) > 0 THEN pack_notes(r.notes::text[]) ELSE '' END;
  a.v := ARRAY[
    word_id('o', r.owner)::text, word_id('n', r.job_name)::text, word_id('q', r.queue)::text,
    word_id('p', r.project)::text, word_id('e', r.pe)::text, word_id('a', r.account)::text,
    r.slots::text, r.host_slots::text,
    to_ms(r.submitted_at)::text, to_ms(r.started_at)::text, to_ms(r.ended_at)::text,
    r.exit_status::text, r.signal::text, CASE WHEN r.trust = 'accounting' THEN r.failed::text END,
    pack_request(r.h_vmem),
    pack_bracket(r.peak_rss), pack_bracket(r.peak_rss_swap), pack_bracket(r.peak_vmem),
    pack_bracket(r.peak_process_vmem), pack_bracket(r.peak_footprint),
    -- + 0: no negative zero.
    (r.wallclock_seconds + 0)::text, (r.cpu_seconds + 0)::text, NULL, NULL,
    r.processes::text, r.max_processes::text, r.max_threads::text,
    r.read_bytes::text, r.written_bytes::text, r.read_chars::text, r.written_chars::text,
    r.claimed_by_tree_only::text, r.claimed_by_group_only::text, r.samples::text,
    (r.interval_seconds + 0)::text, (r.longest_gap_seconds + 0)::text, (r.unobserved_start_seconds + 0)::text,
    (r.rss_byte_seconds + 0)::text,
    NULL, pack_series(r.series), NULL, NULL];
  a.s := array_fill(NULL::bigint, ARRAY[42]);
  IF r.sampler IS DISTINCT FROM NULL THEN
    a.v[39] := concat((r.sampler).cpu_seconds + 0, ':', (r.sampler).max_rss_bytes, ':', (r.sampler).mode);
  END IF;
  IF r.granted_hosts IS NOT NULL THEN
    a.v[41] := coalesce((SELECT string_agg(word_id('h', g.host) || ':' || g.slots, ',' ORDER BY n)
      FROM unnest(r.granted_hosts) WITH ORDINALITY AS g (host, slots, n)), '');
  END IF;
  IF r.grid_engine IS DISTINCT FROM NULL THEN
    a.v[42] := concat((r.grid_engine).wallclock_seconds + 0, ':', (r.grid_engine).cpu_seconds + 0, ':',
      (r.grid_engine).user_seconds + 0, ':', (r.grid_engine).system_seconds + 0, ':', (r.grid_engine).maxvmem_bytes, ':',
      (r.grid_engine).maxrss_bytes, ':', (r.grid_engine).mem_gib_seconds + 0, ':', (r.grid_engine).io_gib + 0, ':',
      word_id('g', (r.grid_engine).category), ':', word_id('o', (r.grid_engine).deleted_by), ':', (r.grid_engine).lines);
  END IF;
  a.requests := '{}';
  a.metrics := '{}';
  IF r.requests <> '{}' THEN
    SELECT jsonb_object_agg(word_id('x', k), pack_request(jsonb_populate_record(NULL::incoming_request, v)))
      INTO a.requests FROM jsonb_each(r.requests) AS e (k, v);
  END IF;
  IF r.metrics <> '{}' THEN
    SELECT jsonb_object_agg(word_id('m', k), (v::text::double precision + 0)::text)
      INTO a.metrics FROM jsonb_each(r.metrics) AS e (k, v);
  END IF;
  a.stamps := '{}';
  RETURN a;
END $$;

CREATE FUNCTION pack_map(map jsonb) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN map = '{}' THEN NULL
    ELSE (SELECT string_agg(k || '=' || v, ';' ORDER BY k::integer) FROM jsonb_each_text(map) AS e (k, v)) END
$$;
CREATE FUNCTION unpack_map(packed text) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
  SELECT CASE WHEN packed IS NULL THEN '{}'
    ELSE (SELECT jsonb_object_agg(split_part(item, '=', 1), split_part(item, '=', 2))
          FROM unnest(string_to_array(packed, ';')) AS u (item)) END
$$;

-- The peaks of a row: sizes in KiB where all are whole ones (4 in the flags), times from the job's start on, the lower end of peak_rss only in its column, and of the others
-- what peak_rss says as well as `=`. And back.
CREATE FUNCTION shorter(peak text, model text, start bigint) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  p text[];
  m text[];
BEGIN
  IF peak IS NULL THEN RETURN NULL; END IF;
  IF peak = model THEN RETURN '='; END IF;
  p := string_to_array(peak, ':');
  IF model IS NULL THEN
    NULL;
  ELSE
    m := string_to_array(model, ':');
    -- No text in these is a value of its own, so it is not replaced.
    FOR i IN 5 .. 8 LOOP
      IF p[i] = m[i] AND p[i] <> '' THEN p[i] := '='; END IF;
    END LOOP;
  END IF;
  IF p[7] NOT IN ('', '=') THEN p[7] := p[7]::bigint - coalesce(start, 0); END IF;
  IF p[2]::bigint % 1024 = 0 AND coalesce(nullif(p[3], '')::bigint, 0) % 1024 = 0 AND p[4]::bigint % 1024 = 0 THEN
    p[1] := p[1]::integer + 4;
    FOR i IN 2 .. 4 LOOP
      p[i] := coalesce((nullif(p[i], '')::bigint / 1024)::text, '');
    END LOOP;
  END IF;
  RETURN array_to_string(p, ':');
END $$;
CREATE FUNCTION longer(peak text, model text, start bigint) RETURNS text IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  p text[];
  m text[];
BEGIN
  IF peak IS NULL THEN RETURN NULL; END IF;
  IF peak = '=' THEN RETURN model; END IF;
  p := string_to_array(peak, ':');
  IF p[7] NOT IN ('', '=') THEN p[7] := p[7]::bigint + coalesce(start, 0); END IF;
  IF p[1]::integer >= 4 THEN
    p[1] := p[1]::integer - 4;
    FOR i IN 2 .. 4 LOOP
      p[i] := coalesce((nullif(p[i], '')::bigint * 1024)::text, '');
    END LOOP;
  END IF;
  IF model IS NOT NULL THEN
    m := string_to_array(model, ':');
    FOR i IN 5 .. 8 LOOP
      IF p[i] = '=' THEN p[i] := m[i]; END IF;
    END LOOP;
  END IF;
  RETURN array_to_string(p, ':');
END $$;

CREATE FUNCTION pack_provenance(a account) RETURNS text IMMUTABLE LANGUAGE sql AS $$
  SELECT string_agg(stamp || ':' || slots, ';' ORDER BY stamp) FROM (
    SELECT stamp, string_agg(slot, ',' ORDER BY slot) AS slots FROM (
      SELECT n::text AS slot, stamp FROM unnest(a.s) WITH ORDINALITY AS u (stamp, n) WHERE stamp IS NOT NULL
      UNION ALL SELECT 's', a.status_stamp WHERE a.status_stamp <> a.stamp
      UNION ALL SELECT k, v::bigint FROM jsonb_each_text(a.stamps) AS e (k, v)) AS every
    GROUP BY stamp) AS grouped
$$;

CREATE FUNCTION row_of(a account, the_id bigint, month integer) RETURNS job_record IMMUTABLE LANGUAGE plpgsql AS $$
DECLARE
  r job_record;
  v text[] := a.v;
BEGIN
  r.id := the_id;
  r.job_id := a.job_id;
  r.task_id := a.task_id;
  r.stamp := a.stamp;
  r.submitted_at := v[9];
  r.started_at := v[10];
  r.ended_at := v[11];
  r.counted_at := coalesce(r.ended_at, CASE WHEN a.status = 'r' THEN revision_of(a.stamp)
    ELSE coalesce(r.started_at, r.submitted_at, revision_of(a.stamp)) END);
  r.slots := v[7];
  r.host_slots := v[8];
  IF v[15] IS NOT NULL THEN
    r.h_vmem_request := nullif(split_part(v[15], ':', 1), '');
    r.h_vmem_limit := nullif(split_part(v[15], ':', 2), '');
    r.h_vmem_per := split_part(v[15], ':', 3);
  END IF;
  r.peak_rss_lower := split_part(v[16], ':', 2);
  r.wallclock := v[21];
  r.cpu := v[22];
  r.rss_byte_seconds := v[38];
  r.key_month := month;
  r.cluster_id := a.cluster_id;
  r.host_id := a.host_id;
  r.owner_id := v[1];
  r.job_name_id := v[2];
  r.queue_id := v[3];
  r.project_id := v[4];
  r.pe_id := v[5];
  r.account_id := v[6];
  r.exit_status := v[12];
  r.signal := v[13];
  r.failed := v[14];
  r.status := a.status;
  r.run_id := a.run_id;
  r.pe_task_id := a.pe_task_id;
  r.peak_rss := regexp_replace(shorter(v[16], NULL, r.started_at), ':\d+:', '::');
  r.peak_rss_swap := shorter(v[17], v[16], r.started_at);
  r.peak_vmem := shorter(v[18], v[16], r.started_at);
  r.peak_process_vmem := shorter(v[19], v[16], r.started_at);
  r.peak_footprint := shorter(v[20], v[16], r.started_at);
  r.counters := nullif(rtrim(array_to_string(v[23:37], ',', ''), ','), '');
  r.sampler := v[39];
  r.granted_hosts := v[41];
  r.grid_engine := v[42];
  IF a.requests <> '{}' THEN r.requests := pack_map(a.requests); END IF;
  IF a.metrics <> '{}' THEN r.metrics := pack_map(a.metrics); END IF;
  r.notes := nullif(a.notes, '');
  r.provenance := CASE WHEN a.status_stamp = a.stamp AND a.stamps = '{}' AND array_remove(a.s, NULL) = '{}'
    THEN NULL ELSE pack_provenance(a) END;
  RETURN r;
END $$;

CREATE FUNCTION account_of_row(r job_record, points text) RETURNS account STABLE LANGUAGE plpgsql AS $$
DECLARE
  a account;
  c text[] := string_to_array(r.counters, ',', '');
  rss text := longer(regexp_replace(r.peak_rss, '::', ':' ||
    CASE WHEN left(r.peak_rss, 1) >= '4' THEN r.peak_rss_lower / 1024 ELSE r.peak_rss_lower END || ':'), NULL, r.started_at);
  part text;
  slot text;
  stamp bigint;
BEGIN
  a.job_id := r.job_id;
  a.task_id := r.task_id;
  a.pe_task_id := r.pe_task_id;
  a.cluster_id := r.cluster_id;
  a.host_id := r.host_id;
  a.run_id := r.run_id;
  a.stamp := r.stamp;
  a.status := r.status;
  a.status_stamp := r.stamp;
  a.notes := coalesce(r.notes, '');
  a.v := ARRAY[
    r.owner_id::text, r.job_name_id::text, r.queue_id::text, r.project_id::text, r.pe_id::text, r.account_id::text,
    r.slots::text, r.host_slots::text, r.submitted_at::text, r.started_at::text, r.ended_at::text,
    r.exit_status::text, r.signal::text, r.failed::text,
    CASE WHEN r.h_vmem_per IS NOT NULL THEN concat(r.h_vmem_request, ':', r.h_vmem_limit, ':', r.h_vmem_per) END,
    rss, longer(r.peak_rss_swap, rss, r.started_at), longer(r.peak_vmem, rss, r.started_at),
    longer(r.peak_process_vmem, rss, r.started_at), longer(r.peak_footprint, rss, r.started_at),
    r.wallclock::text, r.cpu::text, c[1], c[2], c[3], c[4], c[5], c[6], c[7], c[8], c[9], c[10], c[11], c[12], c[13],
    c[14], c[15], r.rss_byte_seconds::text, r.sampler, points, r.granted_hosts, r.grid_engine];
  a.s := array_fill(NULL::bigint, ARRAY[42]);
  a.requests := unpack_map(r.requests);
  a.metrics := unpack_map(r.metrics);
  a.stamps := '{}';
  IF r.provenance IS NOT NULL THEN
    FOREACH part IN ARRAY string_to_array(r.provenance, ';') LOOP
      stamp := split_part(part, ':', 1);
      FOREACH slot IN ARRAY string_to_array(split_part(part, ':', 2), ',') LOOP
        IF slot = 's' THEN a.status_stamp := stamp;
        ELSIF slot ~ '^\d' THEN a.s[slot::integer] := stamp;
        ELSE a.stamps := a.stamps || jsonb_build_object(slot, stamp);
        END IF;
      END LOOP;
    END LOOP;
  END IF;
  RETURN a;
END $$;

CREATE FUNCTION fields() RETURNS text[] IMMUTABLE LANGUAGE sql AS $$
  SELECT '{owner,job_name,queue,project,pe,account,slots,host_slots,submitted_at,started_at,ended_at,exit_status,signal,failed,h_vmem,peak_rss,peak_rss_swap,peak_vmem,peak_process_vmem,peak_footprint,wallclock_seconds,cpu_seconds,cpu_efficiency,memory_efficiency,processes,max_processes,max_threads,read_bytes,written_bytes,read_chars,written_chars,claimed_by_tree_only,claimed_by_group_only,samples,interval_seconds,longest_gap_seconds,unobserved_start_seconds,rss_byte_seconds,sampler,series,granted_hosts,grid_engine}'::text[]
$$;

CREATE FUNCTION number_json(digits text) RETURNS jsonb IMMUTABLE LANGUAGE sql AS
  $$ SELECT coalesce(to_jsonb(nullif(digits, '')::numeric), 'null') $$;

CREATE FUNCTION request_json(packed text) RETURNS jsonb IMMUTABLE LANGUAGE sql AS $$
  SELECT jsonb_build_object('request_bytes', number_json(split_part(packed, ':', 1)),
    'limit_bytes', number_json(split_part(packed, ':', 2)),
    'per', CASE split_part(packed, ':', 3) WHEN 's' THEN 'slot' ELSE 'job' END)
$$;

-- The JSON of merged field `n`.
CREATE FUNCTION field_json(n integer, packed text) RETURNS jsonb STABLE LANGUAGE plpgsql AS $$
DECLARE
  p text[];
BEGIN
  IF packed IS NULL THEN RETURN 'null'; END IF;
  IF n <= 6 THEN RETURN to_jsonb(word_text(packed::integer)); END IF;
  IF n BETWEEN 9 AND 11 THEN RETURN to_jsonb(to_time(packed::bigint)); END IF;
  IF n = 15 THEN RETURN request_json(packed); END IF;
  IF n BETWEEN 16 AND 20 THEN
    p := string_to_array(packed, ':', '');
    RETURN jsonb_build_object('lower_bytes', p[2]::bigint, 'upper_bytes', p[2]::bigint + p[3]::bigint,
      'slack_bytes', p[4]::bigint, 'proved', p[1]::integer & 1 <> 0, 'exact', p[1]::integer & 2 <> 0,
      'open', unbits(p[5]::integer, open_reasons()), 'sources', unbits(p[6]::integer, bracket_sources()),
      'at', to_time(p[7]::bigint), 'command', word_text(p[8]::integer));
  END IF;
  IF n = 39 THEN
    p := string_to_array(packed, ':');
    RETURN jsonb_build_object('cpu_seconds', number_json(p[1]), 'max_rss_bytes', number_json(p[2]), 'mode', p[3]);
  END IF;
  IF n = 40 THEN
    p := string_to_array(packed, ':');
    RETURN jsonb_build_object('start', to_time(p[1]::bigint), 'step_seconds', number_json(p[2]), 'rss_bytes',
      (SELECT coalesce(jsonb_agg(sum ORDER BY i), '[]') FROM (
        SELECT i, sum(change::bigint) OVER (ORDER BY i) * p[3]::bigint AS sum
        FROM unnest(string_to_array(p[4], ',')) WITH ORDINALITY AS u (change, i)) AS points));
  END IF;
  IF n = 41 THEN
    RETURN (SELECT coalesce(jsonb_agg(jsonb_build_object('host', word_text(split_part(g, ':', 1)::integer),
        'slots', split_part(g, ':', 2)::bigint) ORDER BY i), '[]')
      FROM unnest(string_to_array(packed, ',')) WITH ORDINALITY AS u (g, i) WHERE g <> '');
  END IF;
  IF n = 42 THEN
    p := string_to_array(packed, ':', '');
    RETURN jsonb_build_object('wallclock_seconds', number_json(p[1]), 'cpu_seconds', number_json(p[2]),
      'user_seconds', number_json(p[3]), 'system_seconds', number_json(p[4]), 'maxvmem_bytes', number_json(p[5]),
      'maxrss_bytes', number_json(p[6]), 'mem_gib_seconds', number_json(p[7]), 'io_gib', number_json(p[8]),
      'category', word_text(p[9]::integer), 'deleted_by', word_text(p[10]::integer), 'lines', number_json(p[11]));
  END IF;
  RETURN number_json(packed);
END $$;

-- What a reader gets: {record, ended, provenance}, as StoredRecord of src/record/merge.ts.
CREATE FUNCTION account_json(a account) RETURNS jsonb STABLE LANGUAGE plpgsql AS $$
DECLARE
  own jsonb := stamp_json(a.stamp);
  provenance jsonb := '{}';
BEGIN
  IF a.status_stamp <> a.stamp OR a.stamps <> '{}' OR array_remove(a.s, NULL) <> '{}' THEN
    SELECT coalesce(jsonb_object_agg(slot, stamp_json(stamp)), '{}') INTO provenance FROM (
      SELECT (fields())[n] AS slot, stamp FROM unnest(a.s) WITH ORDINALITY AS u (stamp, n) WHERE stamp IS NOT NULL
      UNION ALL SELECT 'status', a.status_stamp WHERE a.status_stamp <> a.stamp
      UNION ALL SELECT CASE left(k, 1) WHEN 'r' THEN 'requests.' ELSE 'metrics.' END || word_text(substr(k, 2)::integer), v::bigint
        FROM jsonb_each_text(a.stamps) AS e (k, v)) AS every;
  END IF;
  RETURN jsonb_build_object(
    'ended', own -> 'ended',
    'provenance', provenance,
    'record', (SELECT jsonb_object_agg((fields())[n], field_json(n::integer, packed))
        FROM unnest(a.v) WITH ORDINALITY AS u (packed, n)) - '{cpu_efficiency,memory_efficiency}'::text[]
      || jsonb_build_object(
        'cluster', word_text(a.cluster_id), 'job_id', a.job_id, 'task_id', a.task_id, 'pe_task_id', a.pe_task_id,
        'host', word_text(a.host_id), 'run_id', a.run_id,
        'status', CASE a.status WHEN 'f' THEN 'finished' WHEN 'r' THEN 'running' WHEN 'l' THEN 'lost' ELSE 'unsampled' END,
        'trust', own -> 'trust', 'revision', own -> 'revision', 'notes', unpack_notes(a.notes),
        'requests', (SELECT coalesce(jsonb_object_agg(word_text(k::integer), request_json(v)), '{}')
          FROM jsonb_each_text(a.requests) AS e (k, v)),
        'metrics', (SELECT coalesce(jsonb_object_agg(word_text(k::integer), number_json(v)), '{}')
          FROM jsonb_each_text(a.metrics) AS e (k, v))));
END $$;

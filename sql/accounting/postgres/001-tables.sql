-- Job records of all clusters, hosts and years. Times: ms since the epoch, UTC. Sizes: bytes.
-- Run as qmemacct_owner, in the schema qmemacct (search_path: qmemacct, pg_catalog, pg_temp).

-- Repeated strings. Unique by the lock under which word_id() adds them: an index on the text itself would bound its length.
CREATE TABLE word (
  id   integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  kind "char" NOT NULL,
  text text COLLATE "C" NOT NULL
);
CREATE INDEX word_by_text ON word (kind, hashtextextended(text, 0));

CREATE SEQUENCE record_id;

-- One row per key (cluster, job, task, pe task, host, run). A partition holds a month's (the month that a record was
-- first known to begin in: YYYYMM; 0: none that can be believed), so that old ones go by dropping a table.
-- "Packed" columns: see 002-codec.sql.
CREATE TABLE job_record (
  id               bigint NOT NULL,
  job_id           bigint NOT NULL,
  task_id          bigint,
  stamp            bigint NOT NULL,  -- rank of the trust << 55 | whether it had ended << 54 | revision
  counted_at       bigint NOT NULL,  -- where it counts in time: where it ended; a running one where it was last heard of
  submitted_at     bigint,
  started_at       bigint,
  ended_at         bigint,
  h_vmem_request   bigint,
  h_vmem_limit     bigint,           -- on this host; NULL: unlimited or unknown
  peak_rss_lower   bigint,
  wallclock        double precision, -- seconds
  cpu              double precision,
  rss_byte_seconds double precision,
  key_month        integer NOT NULL,
  cluster_id       integer NOT NULL,
  host_id          integer NOT NULL,
  owner_id         integer,
  job_name_id      integer,
  queue_id         integer,
  project_id       integer,
  pe_id            integer,
  account_id       integer,
  slots            integer,
  host_slots       integer,
  exit_status      integer,
  signal           integer,
  failed           integer,
  status           "char" NOT NULL,  -- f finished, r running, l lost, u unsampled
  h_vmem_per       "char",           -- s slot, j job; NULL: no h_vmem
  run_id           text COLLATE "C" NOT NULL,
  pe_task_id       text COLLATE "C",
  peak_rss         text COLLATE "C", -- packed, as all that follow
  peak_rss_swap    text COLLATE "C",
  peak_vmem        text COLLATE "C",
  peak_process_vmem text COLLATE "C",
  peak_footprint   text COLLATE "C",
  counters         text COLLATE "C", -- merged fields 23 to 37
  sampler          text COLLATE "C",
  granted_hosts    text COLLATE "C",
  grid_engine      text COLLATE "C",
  requests         text COLLATE "C",
  metrics          text COLLATE "C",
  notes            text COLLATE "C",
  provenance       text COLLATE "C"
) PARTITION BY LIST (key_month);
-- A job of 75,000 tasks has as many records: one of them must not be looked for among all.
CREATE INDEX record_by_job ON job_record (job_id, coalesce(task_id, 0));
CREATE INDEX record_by_owner ON job_record (owner_id, counted_at);
CREATE INDEX record_by_time ON job_record (counted_at);
CREATE INDEX record_running ON job_record (cluster_id) WHERE status = 'r';

-- Memory over time, for the chart.
CREATE TABLE series (
  record_id bigint NOT NULL,
  key_month integer NOT NULL,
  points    text COLLATE "C" NOT NULL,
  PRIMARY KEY (record_id, key_month)
) PARTITION BY LIST (key_month);

-- In which months a thousand job numbers occur: what spares a look-up by job every other month's index.
CREATE TABLE job_month (
  block     bigint NOT NULL,         -- job_id / 1024
  key_month integer NOT NULL,
  PRIMARY KEY (block, key_month)
);

-- Which months have records that count on a day: what spares an interval the others.
CREATE TABLE day_month (
  day       integer NOT NULL,
  key_month integer NOT NULL,
  PRIMARY KEY (day, key_month)
);

-- Days (since 1970, UTC) whose records changed since they were summed; each transaction adds its own rows, so none waits
-- for another, and who sums a day removes those that it sees.
CREATE TABLE stale_day (
  id  bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  day integer NOT NULL
);
CREATE INDEX stale_day_by_day ON stale_day (day);
-- Records that counted before this day have been pruned: sums of those days stay as they are (one row).
CREATE TABLE closed (
  before_day integer NOT NULL
);
INSERT INTO closed VALUES (0);

-- A day's sums by one dimension (0 all, 1 owner, 2 project, 3 queue, 4 host, 5 class of the job's name).
CREATE TABLE rollup (
  day        integer NOT NULL,
  dimension  smallint NOT NULL,
  cluster_id integer NOT NULL,
  word_id    integer NOT NULL,       -- 0: none
  sums       jsonb NOT NULL,         -- as src/accounting/postgres/day-sums.ts packs them
  PRIMARY KEY (dimension, word_id, day, cluster_id)
);
CREATE INDEX rollup_by_day ON rollup (day, dimension);

-- Files of Grid Engine's accounting, and how far they have been read.
CREATE TABLE imported_file (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cluster    text NOT NULL,
  head       text NOT NULL,
  head_bytes bigint NOT NULL,
  path       text NOT NULL,
  device     bigint NOT NULL,
  inode      numeric NOT NULL,
  "offset"   bigint NOT NULL,
  lines      bigint NOT NULL,
  UNIQUE (cluster, head, head_bytes)
);
-- How far other stores have been taken over: they are gone through again from the beginning once that is done.
CREATE TABLE taken_over (
  source   text PRIMARY KEY,
  after_id bigint NOT NULL
);
CREATE TABLE unreadable_line (
  file_id  integer NOT NULL REFERENCES imported_file ON DELETE CASCADE,
  "offset" bigint NOT NULL,
  reason   text NOT NULL,
  text     text NOT NULL,
  PRIMARY KEY (file_id, "offset")
);

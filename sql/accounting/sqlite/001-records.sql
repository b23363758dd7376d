-- Job records of all clusters, hosts and years. Times: ms since the epoch, UTC. Sizes: bytes.
-- Repeated strings live in dictionaries (never pruned while a writer is at work: writers cache their ids).

CREATE TABLE cluster  (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE owner    (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE host     (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE job_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE queue    (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE project  (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE pe       (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE account  (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE command  (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE complex  (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- Notes with their numbers taken out.
CREATE TABLE note     (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- One row per key (cluster, job, task, pe task, host, run). No UNIQUE index says so, since that would cost 17 bytes a
-- row: writers look up and insert in one IMMEDIATE transaction.
CREATE TABLE record (
  id               INTEGER PRIMARY KEY,
  job_id           INTEGER NOT NULL,
  task_id          INTEGER,
  pe_task_id       TEXT,
  cluster_id       INTEGER NOT NULL,
  host_id          INTEGER NOT NULL,
  run_id           BLOB NOT NULL,    -- boot id (4 bytes), pid and start time (varints); as TEXT where it is not of that form
  owner_id         INTEGER,
  job_name_id      INTEGER,
  queue_id         INTEGER,
  project_id       INTEGER,
  pe_id            INTEGER,
  account_id       INTEGER,
  slots            INTEGER,
  host_slots       INTEGER,
  submitted_at     INTEGER,
  started_at       INTEGER,
  ended_at         INTEGER,
  exit_status      INTEGER,
  signal           INTEGER,
  failed           INTEGER,
  status           INTEGER NOT NULL, -- 0 finished, 1 running, 2 lost, 3 unsampled
  trust            INTEGER NOT NULL, -- 0 root, 1 usage, 2 accounting, 3 self-reported
  revision         INTEGER NOT NULL,
  h_vmem_limit     INTEGER,          -- on this host; NULL: unlimited or unknown
  peak_rss_lower   INTEGER,
  wallclock_ms     INTEGER,
  cpu_ms           INTEGER,
  rss_byte_seconds INTEGER,
  detail           BLOB NOT NULL,    -- everything else
  -- Where a job counts in time: where it ended; a running one where it was last heard of.
  counted_at       INTEGER AS (coalesce(ended_at, iif(status = 1, revision, coalesce(started_at, submitted_at, revision)))) VIRTUAL
);
CREATE INDEX record_by_job ON record (job_id, task_id, pe_task_id);
CREATE INDEX record_by_owner ON record (owner_id, counted_at);

-- Memory over time, for the chart.
CREATE TABLE series (
  record_id INTEGER PRIMARY KEY,
  start     INTEGER NOT NULL,
  points    BLOB NOT NULL
);

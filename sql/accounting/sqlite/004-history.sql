-- Grid Engine's own account of a job (`record.detail`): its options, mostly the same few.
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- Job names with their digits taken out, for the roll-ups.
CREATE TABLE name_class (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- What sums need beside the other columns. NULL in rows of an earlier schema, whose details are read instead.
-- Bytes that the job asked for on this host; NULL where they are the limit.
ALTER TABLE record ADD COLUMN h_vmem_request INTEGER;
-- Joules that the job was charged with.
ALTER TABLE record ADD COLUMN energy REAL;
-- 4 x why it has no samples (COVERAGE_REASONS) + 2 without a sample + 1 ended by memory.
ALTER TABLE record ADD COLUMN judged INTEGER;

CREATE INDEX record_by_time ON record (counted_at);

-- UTC days (since 1970) whose records have changed since they were summed up: their records are read instead.
CREATE TABLE stale_day (day INTEGER PRIMARY KEY);
INSERT INTO stale_day SELECT DISTINCT counted_at / 86400000 FROM record;
-- Days of which records have been pruned: their sums stay as they are.
CREATE TABLE pruned_day (day INTEGER PRIMARY KEY);
-- Up to this day series have been pruned (one row).
CREATE TABLE pruned_series (day INTEGER NOT NULL);
INSERT INTO pruned_series VALUES (0);

-- Sums of a day's records, as `Totals` names them. dimension: 0 all of a cluster, 1 owner, 2 project, 3 queue, 4 host,
-- 5 name class; key: its number in the dictionary, 0 where records have none.
CREATE TABLE rollup (
  dimension                     INTEGER NOT NULL,
  day                           INTEGER NOT NULL,
  key                           INTEGER NOT NULL,
  cluster_id                    INTEGER NOT NULL,
  records                       INTEGER NOT NULL,
  jobs                          INTEGER NOT NULL,
  running                       INTEGER NOT NULL,
  requested_gib_hours           REAL NOT NULL,
  requested_with_used_gib_hours REAL NOT NULL,
  requested_with_peak_gib_hours REAL NOT NULL,
  used_gib_hours                REAL NOT NULL,
  peak_gib_hours                REAL NOT NULL,
  cpu_seconds                   REAL NOT NULL,
  slot_seconds                  REAL NOT NULL,
  above_request                 INTEGER NOT NULL,
  far_below                     INTEGER NOT NULL,
  limit_gib_hours               REAL NOT NULL,
  energy_joules                 REAL NOT NULL,
  slot_seconds_with_energy      REAL NOT NULL,
  failed                        INTEGER NOT NULL,
  killed_by_memory              INTEGER NOT NULL,
  unsampled                     INTEGER NOT NULL,
  without_limit                 INTEGER NOT NULL,
  without_peak                  INTEGER NOT NULL,
  without_used                  INTEGER NOT NULL,
  bins                          BLOB NOT NULL, -- hours of the day, shares of the limit, coverage
  PRIMARY KEY (dimension, day, key, cluster_id)
) WITHOUT ROWID;
-- The days on which an owner, a host ... occurs.
CREATE INDEX rollup_by_key ON rollup (dimension, key, day);

-- Jobs of a day that had another record on an earlier day (re-runs, parallel tasks over midnight), and when the last of
-- these counts: so that sums over several days count them once.
CREATE TABLE rollup_again (
  dimension  INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  key        INTEGER NOT NULL,
  cluster_id INTEGER NOT NULL,
  before     INTEGER NOT NULL
);
CREATE INDEX rollup_again_by_day ON rollup_again (dimension, day, key);

-- Accounting files that have been imported, known again by how they begin.
CREATE TABLE imported_file (
  id         INTEGER PRIMARY KEY,
  cluster_id INTEGER NOT NULL,
  head       TEXT NOT NULL,
  head_bytes INTEGER NOT NULL,
  path       TEXT NOT NULL,
  device     INTEGER NOT NULL,
  inode      INTEGER NOT NULL,
  offset     INTEGER NOT NULL,
  lines      INTEGER NOT NULL,
  UNIQUE (cluster_id, head, head_bytes)
);
-- Lines that could not be read, as they are (Latin-1).
CREATE TABLE unreadable_line (
  file_id INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  reason  TEXT NOT NULL,
  text    TEXT NOT NULL,
  PRIMARY KEY (file_id, offset)
) WITHOUT ROWID;

-- What the job's owner alone says (trust 3): roll-ups do not know of it.
CREATE INDEX record_self_reported ON record (counted_at) WHERE trust = 3;

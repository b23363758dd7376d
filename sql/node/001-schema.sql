-- One file per host; many samplers write it, only root reads it. Times: ms since the epoch. Memory: KiB.
CREATE TABLE job (
  id          INTEGER PRIMARY KEY,
  run         TEXT    NOT NULL UNIQUE,       -- name of the run directory
  started     INTEGER NOT NULL,
  changed     INTEGER NOT NULL,
  finished    INTEGER NOT NULL DEFAULT 0,
  record      TEXT    NOT NULL               -- JSON: the record so far, or its last form
) STRICT;
CREATE INDEX job_changed ON job (changed);

-- Pruning drops the oldest, by id: samples of running jobs, too.
CREATE TABLE sample (
  id          INTEGER PRIMARY KEY,
  job         INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
  at          INTEGER NOT NULL,              -- ms after job.started
  rss         INTEGER NOT NULL,
  vmem        INTEGER NOT NULL,
  swap        INTEGER NOT NULL,
  anonymous   INTEGER NOT NULL,
  cpu         INTEGER NOT NULL,              -- ms, since the start of the job
  processes   INTEGER NOT NULL,
  threads     INTEGER NOT NULL,
  read        INTEGER,                       -- KiB from storage, since the start; null: a process hid its I/O
  written     INTEGER,
  -- The largest processes: varints in threes (process.id, rss, ms of CPU of the process itself); process 0 is all
  -- others together. A row for each would take twice the space.
  largest     BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX sample_of_job ON sample (job, at);

CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  job         INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
  pid         INTEGER NOT NULL,
  start       INTEGER NOT NULL,              -- clock ticks after boot
  command     TEXT    NOT NULL,
  seen        INTEGER NOT NULL,              -- last use, to the hour: it goes when no sample of that time is left
  UNIQUE (job, pid, start, command)
) STRICT;
CREATE INDEX process_by_use ON process (seen);

-- Records that the accounting DB has not committed yet.
CREATE TABLE outbox (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  record      TEXT    NOT NULL,
  added       INTEGER NOT NULL,
  -- Why the accounting DB will never take the record; null: it is still to be delivered.
  refused     TEXT
) STRICT;

-- What each user has handed in today (UTC), for the quota.
CREATE TABLE handed (
  uid         INTEGER PRIMARY KEY,
  day         INTEGER NOT NULL,              -- since 1970
  records     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL
) STRICT;

-- What a stored number means: a metric of one instance ("cpu3"), stored as value x resolution. Series refer to its id.
CREATE TABLE metric (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  instance    TEXT    NOT NULL,              -- empty: the metric has one value only
  resolution  REAL    NOT NULL,
  seen        INTEGER NOT NULL,              -- last use, to the day: a metric that no series can refer to is dropped
  UNIQUE (name, instance, resolution)
) STRICT;

-- One row per flush of a sampler: every metric of every source that was read since the last flush, column-wise
-- (src/sampler/series/series-codec.ts). Rows of a finished job, and of past hours of the node, are merged.
CREATE TABLE series (
  id          INTEGER PRIMARY KEY,
  job         INTEGER REFERENCES job (id) ON DELETE CASCADE,   -- NULL: the node itself
  at          INTEGER NOT NULL,              -- first reading
  span        INTEGER NOT NULL,              -- ms from it to the last one
  loose       INTEGER NOT NULL,              -- 1: not yet merged with its neighbours
  packed      BLOB    NOT NULL
) STRICT;
CREATE INDEX series_of_job ON series (job, loose, at);
CREATE INDEX series_by_end ON series (at + span);

-- Sources of the node that give nothing now although the site switched them on by name, or they worked before.
CREATE TABLE failing_source (
  source      TEXT PRIMARY KEY,
  reason      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

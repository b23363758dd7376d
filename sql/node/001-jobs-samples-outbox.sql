-- One file per host; many samplers write, nobody but root reads. Times: ms since the epoch. Memory: KiB.
CREATE TABLE job (
  id          INTEGER PRIMARY KEY,
  run         TEXT    NOT NULL UNIQUE,       -- name of the run directory
  started     INTEGER NOT NULL,
  changed     INTEGER NOT NULL,
  finished    INTEGER NOT NULL DEFAULT 0,
  record      TEXT    NOT NULL               -- JSON: the record so far, or its last form
) STRICT;
CREATE INDEX job_changed ON job (changed);

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
  read        INTEGER NOT NULL,              -- KiB from storage, since the start
  written     INTEGER NOT NULL,
  -- The largest processes: varints in threes (process.id, rss, ms of CPU of the process itself); process 0 is all
  -- others together. A row for each would take twice the room.
  largest     BLOB    NOT NULL
) STRICT;
CREATE UNIQUE INDEX sample_of_job ON sample (job, at);

CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  job         INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
  pid         INTEGER NOT NULL,
  start       INTEGER NOT NULL,              -- clock ticks after boot
  command     TEXT    NOT NULL,
  UNIQUE (job, pid, start, command)
) STRICT;

-- Records that the accounting DB has not committed yet.
CREATE TABLE outbox (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  record      TEXT    NOT NULL,
  added       INTEGER NOT NULL,
  -- Why the accounting DB will never take it; null: to be delivered.
  refused     TEXT
) STRICT;

-- What each user has handed in today (UTC): what a quota needs.
CREATE TABLE handed (
  uid         INTEGER PRIMARY KEY,
  day         INTEGER NOT NULL,              -- since 1970
  records     INTEGER NOT NULL,
  bytes       INTEGER NOT NULL
) STRICT;

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
  PRIMARY KEY (job, at)
) STRICT, WITHOUT ROWID;

CREATE TABLE process (
  id          INTEGER PRIMARY KEY,
  job         INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
  pid         INTEGER NOT NULL,
  start       INTEGER NOT NULL,              -- clock ticks after boot
  command     TEXT    NOT NULL,
  UNIQUE (job, pid, start, command)
) STRICT;

-- The largest processes of a sample; process 0 is all others together.
CREATE TABLE process_sample (
  job         INTEGER NOT NULL REFERENCES job (id) ON DELETE CASCADE,
  at          INTEGER NOT NULL,
  process     INTEGER NOT NULL,
  rss         INTEGER NOT NULL,
  cpu         INTEGER NOT NULL,              -- ms of the process itself
  PRIMARY KEY (job, at, process)
) STRICT, WITHOUT ROWID;

-- Records that the accounting DB has not committed yet.
CREATE TABLE outbox (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  record      TEXT    NOT NULL,
  added       INTEGER NOT NULL,
  -- Why the accounting DB will never take it; null: to be delivered.
  refused     TEXT
) STRICT;

-- What a stored number is: a metric of one instance ("cpu3"), stored as value x resolution. Series name it by id.
CREATE TABLE metric (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  name        TEXT    NOT NULL,
  instance    TEXT    NOT NULL,              -- empty: the metric has one value only
  resolution  REAL    NOT NULL,
  seen        INTEGER NOT NULL,              -- last use, to the day: what no series can name any more is dropped
  UNIQUE (name, instance, resolution)
) STRICT;

-- One row per flush of a sampler: every metric of every source that was read since the last one, column-wise
-- (src/sampler/series/series-codec.ts). Rows of a finished job, and of past hours of the node, are put together.
CREATE TABLE series (
  id          INTEGER PRIMARY KEY,
  job         INTEGER REFERENCES job (id) ON DELETE CASCADE,   -- NULL: the node itself
  at          INTEGER NOT NULL,              -- first reading
  span        INTEGER NOT NULL,              -- ms from it to the last one
  loose       INTEGER NOT NULL,              -- 1: not yet put together with its neighbours
  packed      BLOB    NOT NULL
) STRICT;
CREATE INDEX series_of_job ON series (job, loose, at);

-- Of the node's sources those that give nothing now though the site switched them on by name, or they worked before.
CREATE TABLE failing_source (
  source      TEXT PRIMARY KEY,
  reason      TEXT NOT NULL
) STRICT, WITHOUT ROWID;

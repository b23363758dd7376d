-- Grid Engine's own account of a job (`record.detail`): its options, mostly the same few.
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

-- Files of Grid Engine's accounting that were imported, known again by how they begin: a rotation renames, copies or
-- compresses them.
CREATE TABLE imported_file (
  id         INTEGER PRIMARY KEY,
  cluster_id INTEGER NOT NULL,
  head       TEXT NOT NULL,    -- hash of the first head_bytes bytes
  head_bytes INTEGER NOT NULL,
  path       TEXT NOT NULL,    -- where it was last seen
  device     INTEGER NOT NULL,
  inode      INTEGER NOT NULL,
  offset     INTEGER NOT NULL, -- uncompressed bytes that are in the store
  lines      INTEGER NOT NULL
);
CREATE UNIQUE INDEX imported_file_by_head ON imported_file (cluster_id, head, head_bytes);
-- Lines that could not be read, as they are (Latin-1).
CREATE TABLE unreadable_line (
  id      INTEGER PRIMARY KEY,
  file_id INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  reason  TEXT NOT NULL,
  text    TEXT NOT NULL
);

-- Running jobs by when they were last heard of: a few rows of many, so the index costs nothing to speak of.
CREATE INDEX record_running ON record (revision) WHERE status = 1;

-- Names of what other sources said of a job; the values are in record.detail.
CREATE TABLE metric (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

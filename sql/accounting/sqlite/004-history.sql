-- Grid Engine's own account of a job (`record.detail`): its options, mostly the same few.
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);

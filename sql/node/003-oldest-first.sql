-- Pruning drops the oldest samples and series, of running jobs, too. Samples are in the order of their ids.
-- Last use of a process, to the hour: it goes when no sample of that time is left. NULL: saved by an earlier version, it
-- goes with its job.
ALTER TABLE process ADD COLUMN seen INTEGER;
CREATE INDEX process_by_use ON process (seen);
CREATE INDEX series_by_end ON series (at + span);

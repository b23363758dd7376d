-- Job records of all clusters, hosts and years. Times: ms since the epoch, UTC. Sizes: bytes. Durations: ms.
-- People and their tools read the views `jobs`, `peaks`, `requests`, `metrics` and `daily`, in names, bytes and seconds.
-- `npm run generate` writes the parts between "generated" and "end of generated" from src/record/fields.ts.

-- generated: dictionaries
CREATE TABLE cluster (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE owner (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE host (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE job_name (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE queue (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE project (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE pe (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE account (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE program (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE command (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE category (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE submit_command (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE complex (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE bracket_basis (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE request_set (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE metric_set (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE notes (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE provenance (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
-- end of generated

-- The identity of this store (one row), by which readers that follow its records tell it from another store.
CREATE TABLE store (id TEXT NOT NULL);
INSERT INTO store VALUES (lower(hex(randomblob(16))));

-- One row per key (cluster, job, task, pe task, host, run). No UNIQUE index enforces this, as it would cost 17 bytes a
-- row: writers look up and insert in one IMMEDIATE transaction.
-- generated: record
CREATE TABLE record (
  id INTEGER PRIMARY KEY AUTOINCREMENT,
  -- Where a job counts in time: where it ended; a running one at its last heartbeat.
  counted_at INTEGER AS (coalesce(ended_at, CASE WHEN status = 1 THEN revision ELSE coalesce(started_at, submitted_at, revision) END)) VIRTUAL,
  cluster_id INTEGER NOT NULL, -- cluster_name of the cell, else the cell
  job_id INTEGER NOT NULL, -- Grid Engine's job number
  task_id INTEGER, -- array task; null unless the job is an array job
  pe_task_id TEXT, -- task of a tightly integrated job (1.node02); null: the job's master
  host_id INTEGER NOT NULL, -- where it ran
  run_id TEXT NOT NULL, -- boot id (8 hex digits) . shepherd's pid . its start time in clock ticks; of a record that a user handed in, .u and the uid
  owner_id INTEGER, -- user who owns the job
  job_name_id INTEGER, -- name of the job; of a sampled one, when it started (qalter -N)
  queue_id INTEGER, -- queue it ran in
  project_id INTEGER, -- project
  pe_id INTEGER, -- parallel environment
  account_id INTEGER, -- account string (qsub -A)
  program_id INTEGER, -- digest of its script (or command), a point, and one of its working directory; numbers in them do not count
  slots INTEGER, -- slots of the whole job
  host_slots INTEGER, -- slots on this host
  granted_hosts TEXT, -- of a parallel job's master: its hosts, as Grid Engine granted them (JSON)
  submitted_at INTEGER, -- when it was submitted (ms since the epoch)
  started_at INTEGER, -- when it started (ms since the epoch)
  ended_at INTEGER, -- when it ended (ms since the epoch)
  exit_status INTEGER, -- exit status of the job
  signal INTEGER, -- signal that ended the job's first process; 0: none
  failed INTEGER, -- Grid Engine's `failed` code; null until joined with its accounting
  status INTEGER NOT NULL, -- finished, running, lost (shepherd or host died) or unsampled: 0 finished, 1 running, 2 lost, 3 unsampled
  trust INTEGER NOT NULL, -- data source: root sampler, usage file, accounting line, or self-reported: 0 root, 1 usage, 2 accounting, 3 self-reported
  h_vmem_request_bytes INTEGER, -- h_vmem request and limit on this host: the request, as given to qsub
  h_vmem_limit_bytes INTEGER, -- h_vmem request and limit on this host: the limit; null: unlimited
  h_vmem_per INTEGER, -- h_vmem request and limit on this host: what the request is for: 0 slot, 1 job, 2 host
  request_set_id INTEGER, -- every other memory request or limit in force, by complex (JSON)
  request_order_id INTEGER, -- the site's order of complexes, the first requested being what the record is judged by; null: the usual one
  peak_rss_lower_bytes INTEGER, -- resident memory, summed over the distinct address spaces: lower bound
  peak_rss_upper_bytes INTEGER, -- resident memory, summed over the distinct address spaces: upper bound; null: open
  peak_rss_slack_bytes INTEGER, -- resident memory, summed over the distinct address spaces: error of the kernel's counters, inside both bounds
  peak_rss_at INTEGER, -- resident memory, summed over the distinct address spaces: when the lower bound was seen (ms since the epoch)
  peak_rss_command_id INTEGER, -- resident memory, summed over the distinct address spaces: the largest process at that moment
  peak_rss_basis_id INTEGER, -- resident memory, summed over the distinct address spaces: what the bounds rest on
  peak_rss_swap_lower_bytes INTEGER, -- resident memory and swap, summed: lower bound
  peak_rss_swap_upper_bytes INTEGER, -- resident memory and swap, summed: upper bound; null: open
  peak_rss_swap_slack_bytes INTEGER, -- resident memory and swap, summed: error of the kernel's counters, inside both bounds
  peak_rss_swap_at INTEGER, -- resident memory and swap, summed: when the lower bound was seen (ms since the epoch)
  peak_rss_swap_command_id INTEGER, -- resident memory and swap, summed: the largest process at that moment
  peak_rss_swap_basis_id INTEGER, -- resident memory and swap, summed: what the bounds rest on
  peak_vmem_lower_bytes INTEGER, -- address space, summed: lower bound
  peak_vmem_upper_bytes INTEGER, -- address space, summed: upper bound; null: open
  peak_vmem_slack_bytes INTEGER, -- address space, summed: error of the kernel's counters, inside both bounds
  peak_vmem_at INTEGER, -- address space, summed: when the lower bound was seen (ms since the epoch)
  peak_vmem_command_id INTEGER, -- address space, summed: the largest process at that moment
  peak_vmem_basis_id INTEGER, -- address space, summed: what the bounds rest on
  peak_process_vmem_lower_bytes INTEGER, -- largest address space of one process: lower bound
  peak_process_vmem_upper_bytes INTEGER, -- largest address space of one process: upper bound; null: open
  peak_process_vmem_slack_bytes INTEGER, -- largest address space of one process: error of the kernel's counters, inside both bounds
  peak_process_vmem_at INTEGER, -- largest address space of one process: when the lower bound was seen (ms since the epoch)
  peak_process_vmem_command_id INTEGER, -- largest address space of one process: the largest process at that moment
  peak_process_vmem_basis_id INTEGER, -- largest address space of one process: what the bounds rest on
  peak_footprint_lower_bytes INTEGER, -- anonymous, shared and swapped memory, each page once: lower bound
  peak_footprint_upper_bytes INTEGER, -- anonymous, shared and swapped memory, each page once: upper bound; null: open
  peak_footprint_slack_bytes INTEGER, -- anonymous, shared and swapped memory, each page once: error of the kernel's counters, inside both bounds
  peak_footprint_at INTEGER, -- anonymous, shared and swapped memory, each page once: when the lower bound was seen (ms since the epoch)
  peak_footprint_command_id INTEGER, -- anonymous, shared and swapped memory, each page once: the largest process at that moment
  peak_footprint_basis_id INTEGER, -- anonymous, shared and swapped memory, each page once: what the bounds rest on
  wallclock_ms INTEGER, -- elapsed time, in ms
  suspended_ms INTEGER, -- elapsed time in which all its processes were stopped, in ms
  cpu_ms INTEGER, -- CPU time, children included, in ms
  processes INTEGER, -- distinct processes seen
  max_processes INTEGER, -- most processes at one time
  max_threads INTEGER, -- most threads at one time
  read_bytes INTEGER, -- read from storage
  written_bytes INTEGER, -- written to storage
  read_chars INTEGER, -- read by calls, page cache included
  written_chars INTEGER, -- written by calls, page cache included
  claimed_by_tree_only INTEGER, -- processes found by the process tree alone
  claimed_by_group_only INTEGER, -- processes found by the additional group id alone
  samples INTEGER, -- samples taken
  interval_ms INTEGER, -- interval between samples, in ms
  longest_gap_ms INTEGER, -- longest time between two samples, in ms
  unobserved_start_ms INTEGER, -- from the job's start to the first sample, in ms
  rss_byte_seconds REAL, -- resident memory integrated over time
  sampler_cpu_ms INTEGER, -- what the sampler itself took: CPU time, in ms
  sampler_max_rss_bytes INTEGER, -- what the sampler itself took: most resident memory
  sampler_mode INTEGER, -- what the sampler itself took: small where the job's limits could not be lifted: 0 full, 1 small
  ge_wallclock_ms INTEGER, -- Grid Engine's own figures; null until joined with its accounting: elapsed time, in ms
  ge_cpu_ms INTEGER, -- Grid Engine's own figures; null until joined with its accounting: CPU time, in ms
  ge_user_ms INTEGER, -- Grid Engine's own figures; null until joined with its accounting: CPU time in user mode, in ms
  ge_system_ms INTEGER, -- Grid Engine's own figures; null until joined with its accounting: CPU time in the kernel, in ms
  ge_maxvmem_bytes INTEGER, -- Grid Engine's own figures; null until joined with its accounting: its peak, of what it adds up (maxvmem)
  ge_maxrss_bytes INTEGER, -- Grid Engine's own figures; null until joined with its accounting: largest resident memory (maxrss)
  ge_mem_gib_seconds REAL, -- Grid Engine's own figures; null until joined with its accounting: memory integrated over time (mem)
  ge_io_gib REAL, -- Grid Engine's own figures; null until joined with its accounting: transferred by calls (io)
  ge_category_id INTEGER, -- Grid Engine's own figures; null until joined with its accounting: the options of the submission, normalised
  ge_submit_command_id INTEGER, -- Grid Engine's own figures; null until joined with its accounting: the command line of the submission, without values of variables and arguments of the script
  ge_deleted_by_id INTEGER, -- Grid Engine's own figures; null until joined with its accounting: who deleted the job
  ge_lines INTEGER, -- Grid Engine's own figures; null until joined with its accounting: accounting lines of this run
  metric_set_id INTEGER, -- what the other sources say of the whole job, by metric, in its unit (qmemacct metrics): names (JSON)
  metric_values TEXT, -- what the other sources say of the whole job, by metric, in its unit (qmemacct metrics): values in the order of the names (JSON)
  notes_id INTEGER, -- what the reader should know about these figures: texts with \u0001 for each number (JSON)
  note_numbers TEXT, -- what the reader should know about these figures: the numbers of each text (JSON)
  revision INTEGER NOT NULL, -- when this account was made (ms since the epoch): of two of equal rank the later wins
  ended INTEGER, -- 1: the job had ended by the record's own trust and revision
  provenance_id INTEGER, -- fields that come from other accounts, by account (JSON); NULL: none
  provenance_revisions INTEGER, -- the revision of that account; of several accounts a list (JSON)
  request_complex_id INTEGER, -- complex of the request that it is judged by
  limit_bytes INTEGER, -- what that request allows on this host (request_complex_id)
  requested_bytes INTEGER, -- what it requests on this host
  energy_joules REAL, -- energy that the job was charged with
  coverage INTEGER, -- why it has no samples: 0 sampled, 1 no-hooks, 2 never-started, 3 limits, 4 unprivileged, 5 other, 6 sampler-lost
  killed_by_memory INTEGER, -- 1: ended by memory
  in_project INTEGER -- 1: Grid Engine has let the owner into the project, by records that no user can have written
);
-- end of generated
CREATE INDEX record_by_job ON record (job_id, task_id, pe_task_id);
CREATE INDEX record_by_owner ON record (owner_id, counted_at);
CREATE INDEX record_by_time ON record (counted_at);
-- Running jobs by their last heartbeat: a few rows of many.
CREATE INDEX record_running ON record (revision) WHERE status = 1;
-- Self-reported records (trust 3), which roll-ups do not count.
CREATE INDEX record_self_reported ON record (counted_at) WHERE trust = 3;

-- The chart of a record: memory over time, and other series.
CREATE TABLE series (
  record_id INTEGER PRIMARY KEY,
  start     INTEGER NOT NULL,
  step_ms   INTEGER NOT NULL,
  points    TEXT NOT NULL -- JSON: the value of each step, by name: rss_bytes, cpu_cores ...
);

-- UTC hours (since 1970) whose records have changed since their day was summed up, and days that have been summed up, each
-- with a number that differs each time: what a reader keeps of an hour is valid as long as the number stays the same.
CREATE TABLE stale_hour (hour INTEGER PRIMARY KEY, change INTEGER NOT NULL);
CREATE TABLE summed_day (day INTEGER PRIMARY KEY, change INTEGER NOT NULL);
-- The days of the stale hours: their records are read instead of their sums.
CREATE VIEW stale_day AS SELECT DISTINCT hour / 24 AS day FROM stale_hour;
-- Days from which records have been pruned: their sums never change again.
CREATE TABLE pruned_day (day INTEGER PRIMARY KEY);
-- The time up to which series have been pruned (one row).
CREATE TABLE pruned_series (until INTEGER NOT NULL);
INSERT INTO pruned_series VALUES (0);

-- Sums of the records of a day, or of the days of a month or year, as `Totals` names them.
-- generated: rollup
CREATE TABLE name_class (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE rollup_key (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE rollup (
  unit INTEGER NOT NULL, -- 0 day, 1 month, 2 year
  day INTEGER NOT NULL, -- its first UTC day, since 1970
  dimension INTEGER NOT NULL, -- 0 all of a cluster, 1 owner, 2 project, 3 queue, 4 host, 5 name class, 6 owner's name class, 7 project's owner, 8 project's owner's name class
  key INTEGER NOT NULL, -- in the dictionary of the dimension; of several in rollup_key; 0: records without one
  cluster_id INTEGER NOT NULL,
  records INTEGER NOT NULL, -- records
  jobs INTEGER NOT NULL, -- distinct jobs and array tasks
  running INTEGER NOT NULL, -- records of jobs that still run
  requested_gib_hours REAL NOT NULL, -- requested memory (the limit, where nothing else was requested) x elapsed time; each host of a parallel job once
  requested_with_used_gib_hours REAL NOT NULL, -- requested_gib_hours of records with used_gib_hours, to compare with used_with_request_gib_hours
  requested_with_peak_gib_hours REAL NOT NULL, -- requested_gib_hours of records with a peak, to compare with peak_with_request_gib_hours
  used_gib_hours REAL NOT NULL, -- resident memory integrated over time, of all records
  used_with_request_gib_hours REAL NOT NULL, -- used_gib_hours of jobs with a request
  peak_gib_hours REAL NOT NULL, -- peak of resident memory x elapsed time, of all records
  peak_with_request_gib_hours REAL NOT NULL, -- peak_gib_hours of jobs with a request
  unused_gib_hours REAL NOT NULL, -- requested memory above the peak x elapsed time, of records with both: what one held above its own request takes nothing from others, but several records of one host of a parallel job count together
  requested_with_grid_engine_gib_hours REAL NOT NULL, -- requested_gib_hours of records with Grid Engine's figure alone, to compare with grid_engine_with_request_gib_hours
  grid_engine_gib_hours REAL NOT NULL, -- Grid Engine's figure (maxvmem) x elapsed time, of records without a peak
  grid_engine_with_request_gib_hours REAL NOT NULL, -- grid_engine_gib_hours of jobs with a request
  unused_by_grid_engine_gib_hours REAL NOT NULL, -- requested memory above Grid Engine's figure x elapsed time, of records without a peak
  cpu_seconds REAL NOT NULL, -- CPU time
  slot_seconds REAL NOT NULL, -- elapsed time (suspended time left out) x slots on the host (1 where unknown); each host of a parallel job once
  above_request INTEGER NOT NULL, -- records whose peak of resident memory is above the limit
  far_below INTEGER NOT NULL, -- ended records whose peak is far below the limit
  limit_gib_hours REAL NOT NULL, -- memory limit x elapsed time; each host of a parallel job once
  energy_joules REAL NOT NULL, -- energy charged to the jobs, of records where it is known
  slot_seconds_with_energy REAL NOT NULL, -- slot seconds of records whose energy is known
  failed INTEGER NOT NULL, -- records of jobs that ended badly
  failed_slot_seconds REAL NOT NULL, -- slot seconds of jobs that ended badly
  killed_by_memory INTEGER NOT NULL, -- records of jobs that memory ended
  unsampled INTEGER NOT NULL, -- ended records without a sample
  without_limit INTEGER NOT NULL, -- records without a limit
  without_peak INTEGER NOT NULL, -- records without a peak
  with_grid_engine INTEGER NOT NULL, -- records without a peak, but with Grid Engine's figure (maxvmem)
  without_used INTEGER NOT NULL, -- records without memory-hours
  PRIMARY KEY (unit, day, dimension, key, cluster_id)
) WITHOUT ROWID;
-- end of generated
-- Bins of the same groups, JSON lists of numbers; NULL: zeros, as for all years. They also tell on which days an owner,
-- project ... occurs.
CREATE TABLE rollup_bins (
  dimension  INTEGER NOT NULL,
  key        INTEGER NOT NULL,
  unit       INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  cluster_id INTEGER NOT NULL,
  hours      TEXT, -- 24 requested GiB h, 24 used GiB h, 24 slot hours, by UTC hour of the day
  shares     TEXT, -- ended records by peak over limit in steps of 5 %, the last at the limit or above
  coverage   TEXT, -- ended records by why they have no samples
  PRIMARY KEY (dimension, key, unit, day, cluster_id)
) WITHOUT ROWID;
-- Jobs of a period that had an earlier record in the same group (re-runs, parallel tasks over midnight), and when the last
-- of the earlier ones counts (ms), so that sums over several periods count each job once.
CREATE TABLE rollup_again (
  unit       INTEGER NOT NULL,
  day        INTEGER NOT NULL,
  dimension  INTEGER NOT NULL,
  key        INTEGER NOT NULL,
  cluster_id INTEGER NOT NULL,
  before     INTEGER NOT NULL
);
CREATE INDEX rollup_again_by_day ON rollup_again (unit, day, dimension, key);
-- For groups with many records on a day: the day's first records in each order of lists, as JSON lists.
CREATE TABLE rollup_largest (
  day       INTEGER NOT NULL,
  dimension INTEGER NOT NULL, -- as in rollup: up to 4
  key       INTEGER NOT NULL,
  sort      INTEGER NOT NULL, -- 0 elapsed time, 1 CPU time, 2 peak, 3 requested memory x elapsed time, 4 unused memory x elapsed time
  amounts   TEXT NOT NULL, -- what the records are ordered by
  ids       TEXT NOT NULL, -- of the records
  PRIMARY KEY (day, dimension, key, sort)
) WITHOUT ROWID;

-- Files of Grid Engine's accounting, and how far they have been imported. An edited file, or a copy, has its own row.
CREATE TABLE imported_file (
  id         INTEGER PRIMARY KEY,
  cluster_id INTEGER NOT NULL,
  head       TEXT NOT NULL,
  head_bytes INTEGER NOT NULL,
  path       TEXT NOT NULL,
  device     INTEGER NOT NULL,
  inode      INTEGER NOT NULL,
  offset     INTEGER NOT NULL,
  tail       TEXT NOT NULL, -- hash of the last bytes before the offset
  lines      INTEGER NOT NULL,
  imported_at INTEGER NOT NULL, -- when its last lines came
  UNIQUE (cluster_id, head, head_bytes, offset, tail)
);
-- Lines that could not be read, as they are (Latin-1).
CREATE TABLE unreadable_line (
  file_id INTEGER NOT NULL,
  offset  INTEGER NOT NULL,
  reason  TEXT NOT NULL,
  text    TEXT NOT NULL,
  PRIMARY KEY (file_id, offset)
) WITHOUT ROWID;

-- The last status that qmemacct on each host reported (src/record/node-status.ts).
CREATE TABLE node (
  cluster            TEXT NOT NULL,
  host               TEXT NOT NULL,
  version            TEXT NOT NULL,    -- of qmemacct
  scope              TEXT NOT NULL,    -- job: a sampler for each job; node: one for the host
  disabled           INTEGER NOT NULL, -- 1: its hooks are switched off
  listener           INTEGER,          -- 1: runs; NULL: need not run all the time
  clock_synchronised INTEGER,          -- 1: by a time service; NULL: not known
  waiting            INTEGER NOT NULL, -- records that had not been delivered
  waiting_since      INTEGER,          -- the oldest of them
  refused            INTEGER NOT NULL, -- records that this DB will never take
  last_job_at        INTEGER,          -- when a job was last measured there
  failing_sources    TEXT NOT NULL,    -- JSON: [{source, reason}]
  heartbeat_at           INTEGER NOT NULL, -- by the host's clock
  PRIMARY KEY (cluster, host)
) WITHOUT ROWID;

-- generated: views
CREATE VIEW jobs AS SELECT
  r.id AS record,
  (SELECT name FROM cluster WHERE id = r.cluster_id) AS cluster,
  r.job_id,
  r.task_id,
  r.pe_task_id,
  (SELECT name FROM host WHERE id = r.host_id) AS host,
  r.run_id,
  (SELECT name FROM owner WHERE id = r.owner_id) AS owner,
  (SELECT name FROM job_name WHERE id = r.job_name_id) AS job_name,
  (SELECT name FROM queue WHERE id = r.queue_id) AS queue,
  (SELECT name FROM project WHERE id = r.project_id) AS project,
  (SELECT name FROM pe WHERE id = r.pe_id) AS pe,
  (SELECT name FROM account WHERE id = r.account_id) AS account,
  (SELECT name FROM program WHERE id = r.program_id) AS program,
  r.slots,
  r.host_slots,
  strftime('%Y-%m-%d %H:%M:%f', r.submitted_at / 1000.0, 'unixepoch') AS submitted_at,
  strftime('%Y-%m-%d %H:%M:%f', r.started_at / 1000.0, 'unixepoch') AS started_at,
  strftime('%Y-%m-%d %H:%M:%f', r.ended_at / 1000.0, 'unixepoch') AS ended_at,
  r.exit_status,
  r.signal,
  r.failed,
  CASE r.status WHEN 0 THEN 'finished' WHEN 1 THEN 'running' WHEN 2 THEN 'lost' WHEN 3 THEN 'unsampled' END AS status,
  CASE r.trust WHEN 0 THEN 'root' WHEN 1 THEN 'usage' WHEN 2 THEN 'accounting' WHEN 3 THEN 'self-reported' END AS trust,
  r.h_vmem_request_bytes,
  r.h_vmem_limit_bytes,
  CASE r.h_vmem_per WHEN 0 THEN 'slot' WHEN 1 THEN 'job' WHEN 2 THEN 'host' END AS h_vmem_per,
  (SELECT name FROM complex WHERE id = r.request_order_id) AS request_order,
  r.wallclock_ms / 1000.0 AS wallclock_seconds,
  r.suspended_ms / 1000.0 AS suspended_seconds,
  r.cpu_ms / 1000.0 AS cpu_seconds,
  r.processes,
  r.max_processes,
  r.max_threads,
  r.read_bytes,
  r.written_bytes,
  r.read_chars,
  r.written_chars,
  r.claimed_by_tree_only,
  r.claimed_by_group_only,
  r.samples,
  r.interval_ms / 1000.0 AS interval_seconds,
  r.longest_gap_ms / 1000.0 AS longest_gap_seconds,
  r.unobserved_start_ms / 1000.0 AS unobserved_start_seconds,
  r.rss_byte_seconds,
  r.sampler_cpu_ms / 1000.0 AS sampler_cpu_seconds,
  r.sampler_max_rss_bytes,
  CASE r.sampler_mode WHEN 0 THEN 'full' WHEN 1 THEN 'small' END AS sampler_mode,
  r.ge_wallclock_ms / 1000.0 AS ge_wallclock_seconds,
  r.ge_cpu_ms / 1000.0 AS ge_cpu_seconds,
  r.ge_user_ms / 1000.0 AS ge_user_seconds,
  r.ge_system_ms / 1000.0 AS ge_system_seconds,
  r.ge_maxvmem_bytes,
  r.ge_maxrss_bytes,
  r.ge_mem_gib_seconds,
  r.ge_io_gib,
  (SELECT name FROM category WHERE id = r.ge_category_id) AS ge_category,
  (SELECT name FROM submit_command WHERE id = r.ge_submit_command_id) AS ge_submit_command,
  (SELECT name FROM owner WHERE id = r.ge_deleted_by_id) AS ge_deleted_by,
  r.ge_lines,
  r.revision,
  (SELECT name FROM complex WHERE id = r.request_complex_id) AS request_complex,
  r.limit_bytes AS request_limit_bytes,
  CASE WHEN (r.wallclock_ms - coalesce(r.suspended_ms, 0)) > 0 THEN r.cpu_ms / nullif((r.wallclock_ms - coalesce(r.suspended_ms, 0)) * 1.0 * coalesce(r.host_slots, CASE WHEN r.trust = 2 AND r.pe_task_id IS NULL
    THEN coalesce(r.slots, 1) END), 0) END AS cpu_efficiency,
  r.peak_rss_lower_bytes * 1.0 / nullif(r.limit_bytes, 0) AS memory_efficiency,
  CASE WHEN (SELECT name FROM cluster WHERE id = r.cluster_id) IN ('(run)', '(demo)') THEN NULL WHEN r.started_at >= r.submitted_at THEN (r.started_at - r.submitted_at) / 1000.0 WHEN r.started_at < r.submitted_at THEN 0 END AS queue_wait_seconds,
  r.peak_rss_lower_bytes,
  r.peak_rss_upper_bytes,
  r.peak_rss_swap_lower_bytes,
  r.peak_rss_swap_upper_bytes,
  r.peak_vmem_lower_bytes,
  r.peak_vmem_upper_bytes,
  r.peak_process_vmem_lower_bytes,
  r.peak_process_vmem_upper_bytes,
  r.peak_footprint_lower_bytes,
  r.peak_footprint_upper_bytes
FROM record r;
CREATE VIEW peaks AS
SELECT r.id AS record, r.job_id, r.task_id, 'rss' AS quantity,
  r.peak_rss_lower_bytes AS lower_bytes, r.peak_rss_upper_bytes AS upper_bytes, r.peak_rss_slack_bytes AS slack_bytes,
  strftime('%Y-%m-%d %H:%M:%f', r.peak_rss_at / 1000.0, 'unixepoch') AS at, (SELECT name FROM command WHERE id = r.peak_rss_command_id) AS command,
  (SELECT name FROM bracket_basis WHERE id = r.peak_rss_basis_id) AS basis
FROM record r WHERE r.peak_rss_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'rss_swap' AS quantity,
  r.peak_rss_swap_lower_bytes AS lower_bytes, r.peak_rss_swap_upper_bytes AS upper_bytes, r.peak_rss_swap_slack_bytes AS slack_bytes,
  strftime('%Y-%m-%d %H:%M:%f', r.peak_rss_swap_at / 1000.0, 'unixepoch') AS at, (SELECT name FROM command WHERE id = r.peak_rss_swap_command_id) AS command,
  (SELECT name FROM bracket_basis WHERE id = r.peak_rss_swap_basis_id) AS basis
FROM record r WHERE r.peak_rss_swap_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'vmem' AS quantity,
  r.peak_vmem_lower_bytes AS lower_bytes, r.peak_vmem_upper_bytes AS upper_bytes, r.peak_vmem_slack_bytes AS slack_bytes,
  strftime('%Y-%m-%d %H:%M:%f', r.peak_vmem_at / 1000.0, 'unixepoch') AS at, (SELECT name FROM command WHERE id = r.peak_vmem_command_id) AS command,
  (SELECT name FROM bracket_basis WHERE id = r.peak_vmem_basis_id) AS basis
FROM record r WHERE r.peak_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'process_vmem' AS quantity,
  r.peak_process_vmem_lower_bytes AS lower_bytes, r.peak_process_vmem_upper_bytes AS upper_bytes, r.peak_process_vmem_slack_bytes AS slack_bytes,
  strftime('%Y-%m-%d %H:%M:%f', r.peak_process_vmem_at / 1000.0, 'unixepoch') AS at, (SELECT name FROM command WHERE id = r.peak_process_vmem_command_id) AS command,
  (SELECT name FROM bracket_basis WHERE id = r.peak_process_vmem_basis_id) AS basis
FROM record r WHERE r.peak_process_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'footprint' AS quantity,
  r.peak_footprint_lower_bytes AS lower_bytes, r.peak_footprint_upper_bytes AS upper_bytes, r.peak_footprint_slack_bytes AS slack_bytes,
  strftime('%Y-%m-%d %H:%M:%f', r.peak_footprint_at / 1000.0, 'unixepoch') AS at, (SELECT name FROM command WHERE id = r.peak_footprint_command_id) AS command,
  (SELECT name FROM bracket_basis WHERE id = r.peak_footprint_basis_id) AS basis
FROM record r WHERE r.peak_footprint_lower_bytes IS NOT NULL;
CREATE VIEW requests AS SELECT r.id AS record, r.job_id, r.task_id, 'h_vmem' AS complex,
  r.h_vmem_request_bytes AS request_bytes, r.h_vmem_limit_bytes AS limit_bytes,
  CASE r.h_vmem_per WHEN 0 THEN 'slot' WHEN 1 THEN 'job' WHEN 2 THEN 'host' END AS per
FROM record r WHERE r.h_vmem_per IS NOT NULL
UNION ALL SELECT r.id, r.job_id, r.task_id, asked.key,
  json_extract(asked.value, '$.request_bytes'), json_extract(asked.value, '$.limit_bytes'), json_extract(asked.value, '$.per')
FROM record r JOIN request_set s ON s.id = r.request_set_id, json_each(s.name) AS asked;
CREATE VIEW metrics AS SELECT r.id AS record, r.job_id, r.task_id, names.value AS metric,
  json_extract(r.metric_values, names.fullkey) AS value
FROM record r JOIN metric_set m ON m.id = r.metric_set_id, json_each(m.name) AS names;
-- end of generated
-- generated: daily
CREATE VIEW daily AS SELECT
  date(u.day * 86400, 'unixepoch') AS day,
  (SELECT name FROM cluster WHERE id = u.cluster_id) AS cluster,
  CASE u.dimension WHEN 0 THEN 'cluster' WHEN 1 THEN 'owner' WHEN 2 THEN 'project' WHEN 3 THEN 'queue' WHEN 4 THEN 'host' WHEN 5 THEN 'job_name' END AS dimension,
  CASE u.dimension WHEN 1 THEN (SELECT name FROM owner WHERE id = u.key) WHEN 2 THEN (SELECT name FROM project WHERE id = u.key) WHEN 3 THEN (SELECT name FROM queue WHERE id = u.key) WHEN 4 THEN (SELECT name FROM host WHERE id = u.key) WHEN 5 THEN (SELECT name FROM name_class WHERE id = u.key) END AS key,
  u.records, u.jobs, u.running, u.requested_gib_hours, u.requested_with_used_gib_hours, u.requested_with_peak_gib_hours, u.used_gib_hours, u.used_with_request_gib_hours, u.peak_gib_hours, u.peak_with_request_gib_hours, u.unused_gib_hours, u.requested_with_grid_engine_gib_hours, u.grid_engine_gib_hours, u.grid_engine_with_request_gib_hours, u.unused_by_grid_engine_gib_hours, u.cpu_seconds, u.slot_seconds, u.above_request, u.far_below, u.limit_gib_hours, u.energy_joules, u.slot_seconds_with_energy, u.failed, u.failed_slot_seconds, u.killed_by_memory, u.unsampled, u.without_limit, u.without_peak, u.with_grid_engine, u.without_used
FROM rollup u WHERE u.unit = 0 AND u.dimension <= 5 AND u.day NOT IN (SELECT day FROM stale_day);
-- end of generated

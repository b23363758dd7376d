-- Job records of all clusters, hosts and years. Times: ms since the epoch, UTC. Sizes: bytes. Durations: ms.
-- Run as qmemacct_owner, in the schema qmemacct (search_path: qmemacct, pg_catalog, pg_temp).
-- For people and their tools: the views jobs, peaks, requests, metrics and daily, at the end; each shows a role only the
-- records that it may see.
-- `npm run generate` writes the parts between "generated" and "end of generated" from src/record/fields.ts.

-- Repeated strings, and JSON values that repeat as a whole.
-- generated: dictionaries
CREATE TABLE cluster (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON cluster (md5(name));
CREATE TABLE owner (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON owner (md5(name));
CREATE TABLE host (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON host (md5(name));
CREATE TABLE job_name (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON job_name (md5(name));
CREATE TABLE queue (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON queue (md5(name));
CREATE TABLE project (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON project (md5(name));
CREATE TABLE pe (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON pe (md5(name));
CREATE TABLE account (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON account (md5(name));
CREATE TABLE program (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON program (md5(name));
CREATE TABLE command (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON command (md5(name));
CREATE TABLE category (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON category (md5(name));
CREATE TABLE submit_command (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON submit_command (md5(name));
CREATE TABLE complex (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON complex (md5(name));
CREATE TABLE bracket_basis (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON bracket_basis (md5(name));
CREATE TABLE request_set (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON request_set (md5(name));
CREATE TABLE metric_set (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON metric_set (md5(name));
CREATE TABLE notes (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON notes (md5(name));
CREATE TABLE provenance (id integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text COLLATE "C" NOT NULL); CREATE UNIQUE INDEX ON provenance (md5(name));
-- end of generated

-- The identity of this store (one row), by which readers that follow its records tell it from another store.
CREATE TABLE store (id text NOT NULL);
INSERT INTO store VALUES (md5(random()::text || clock_timestamp()::text));

-- One row per key (cluster, job, task, pe task, host, run).
-- generated: record
CREATE TABLE record (
  id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  -- Where a job counts in time: where it ended; a running one at its last heartbeat.
  counted_at bigint NOT NULL GENERATED ALWAYS AS (coalesce(ended_at, CASE WHEN status = 1 THEN revision ELSE coalesce(started_at, submitted_at, revision) END)) STORED,
  job_id bigint NOT NULL, -- Grid Engine's job number
  task_id bigint, -- array task; null unless the job is an array job
  slots bigint, -- slots of the whole job
  host_slots bigint, -- slots on this host
  submitted_at bigint, -- when it was submitted (ms since the epoch)
  started_at bigint, -- when it started (ms since the epoch)
  ended_at bigint, -- when it ended (ms since the epoch)
  exit_status bigint, -- exit status of the job
  signal bigint, -- signal that ended the job's first process; 0: none
  failed bigint, -- Grid Engine's `failed` code; null until joined with its accounting
  h_vmem_request_bytes bigint, -- h_vmem request and limit on this host: the request, as given to qsub
  h_vmem_limit_bytes bigint, -- h_vmem request and limit on this host: the limit; null: unlimited
  peak_rss_lower_bytes bigint, -- resident memory, summed over the distinct address spaces: lower bound
  peak_rss_upper_bytes bigint, -- resident memory, summed over the distinct address spaces: upper bound; null: open
  peak_rss_slack_bytes bigint, -- resident memory, summed over the distinct address spaces: error of the kernel's counters, inside both bounds
  peak_rss_at bigint, -- resident memory, summed over the distinct address spaces: when the lower bound was seen (ms since the epoch)
  peak_rss_swap_lower_bytes bigint, -- resident memory and swap, summed: lower bound
  peak_rss_swap_upper_bytes bigint, -- resident memory and swap, summed: upper bound; null: open
  peak_rss_swap_slack_bytes bigint, -- resident memory and swap, summed: error of the kernel's counters, inside both bounds
  peak_rss_swap_at bigint, -- resident memory and swap, summed: when the lower bound was seen (ms since the epoch)
  peak_vmem_lower_bytes bigint, -- address space, summed: lower bound
  peak_vmem_upper_bytes bigint, -- address space, summed: upper bound; null: open
  peak_vmem_slack_bytes bigint, -- address space, summed: error of the kernel's counters, inside both bounds
  peak_vmem_at bigint, -- address space, summed: when the lower bound was seen (ms since the epoch)
  peak_process_vmem_lower_bytes bigint, -- largest address space of one process: lower bound
  peak_process_vmem_upper_bytes bigint, -- largest address space of one process: upper bound; null: open
  peak_process_vmem_slack_bytes bigint, -- largest address space of one process: error of the kernel's counters, inside both bounds
  peak_process_vmem_at bigint, -- largest address space of one process: when the lower bound was seen (ms since the epoch)
  peak_footprint_lower_bytes bigint, -- anonymous, shared and swapped memory, each page once: lower bound
  peak_footprint_upper_bytes bigint, -- anonymous, shared and swapped memory, each page once: upper bound; null: open
  peak_footprint_slack_bytes bigint, -- anonymous, shared and swapped memory, each page once: error of the kernel's counters, inside both bounds
  peak_footprint_at bigint, -- anonymous, shared and swapped memory, each page once: when the lower bound was seen (ms since the epoch)
  wallclock_ms bigint, -- elapsed time, in ms
  suspended_ms bigint, -- elapsed time in which all its processes were stopped, in ms
  cpu_ms bigint, -- CPU time, children included, in ms
  processes bigint, -- distinct processes seen
  max_processes bigint, -- most processes at one time
  max_threads bigint, -- most threads at one time
  read_bytes bigint, -- read from storage
  written_bytes bigint, -- written to storage
  read_chars bigint, -- read by calls, page cache included
  written_chars bigint, -- written by calls, page cache included
  claimed_by_tree_only bigint, -- processes found by the process tree alone
  claimed_by_group_only bigint, -- processes found by the additional group id alone
  samples bigint, -- samples taken
  interval_ms bigint, -- interval between samples, in ms
  longest_gap_ms bigint, -- longest time between two samples, in ms
  unobserved_start_ms bigint, -- from the job's start to the first sample, in ms
  sampler_cpu_ms bigint, -- what the sampler itself took: CPU time, in ms
  sampler_max_rss_bytes bigint, -- what the sampler itself took: most resident memory
  ge_wallclock_ms bigint, -- Grid Engine's own figures; null until joined with its accounting: elapsed time, in ms
  ge_cpu_ms bigint, -- Grid Engine's own figures; null until joined with its accounting: CPU time, in ms
  ge_user_ms bigint, -- Grid Engine's own figures; null until joined with its accounting: CPU time in user mode, in ms
  ge_system_ms bigint, -- Grid Engine's own figures; null until joined with its accounting: CPU time in the kernel, in ms
  ge_maxvmem_bytes bigint, -- Grid Engine's own figures; null until joined with its accounting: its peak, of what it adds up (maxvmem)
  ge_maxrss_bytes bigint, -- Grid Engine's own figures; null until joined with its accounting: largest resident memory (maxrss)
  ge_lines bigint, -- Grid Engine's own figures; null until joined with its accounting: accounting lines of this run
  revision bigint NOT NULL, -- when this account was made (ms since the epoch): of two of equal rank the later wins
  limit_bytes bigint, -- what that request allows on this host (request_complex_id)
  requested_bytes bigint, -- what it requests on this host
  rss_byte_seconds double precision, -- resident memory integrated over time
  ge_mem_gib_seconds double precision, -- Grid Engine's own figures; null until joined with its accounting: memory integrated over time (mem)
  ge_io_gib double precision, -- Grid Engine's own figures; null until joined with its accounting: transferred by calls (io)
  energy_joules double precision, -- energy that the job was charged with
  cluster_id integer NOT NULL, -- cluster_name of the cell, else the cell
  host_id integer NOT NULL, -- where it ran
  owner_id integer, -- user who owns the job
  job_name_id integer, -- name of the job; of a sampled one, when it started (qalter -N)
  queue_id integer, -- queue it ran in
  project_id integer, -- project
  pe_id integer, -- parallel environment
  account_id integer, -- account string (qsub -A)
  program_id integer, -- digest of its script (or command), a point, and one of its working directory; numbers in them do not count
  request_set_id integer, -- every other memory request or limit in force, by complex (JSON)
  request_order_id integer, -- the site's order of complexes, the first requested being what the record is judged by; null: the usual one
  peak_rss_command_id integer, -- resident memory, summed over the distinct address spaces: the largest process at that moment
  peak_rss_basis_id integer, -- resident memory, summed over the distinct address spaces: what the bounds rest on
  peak_rss_swap_command_id integer, -- resident memory and swap, summed: the largest process at that moment
  peak_rss_swap_basis_id integer, -- resident memory and swap, summed: what the bounds rest on
  peak_vmem_command_id integer, -- address space, summed: the largest process at that moment
  peak_vmem_basis_id integer, -- address space, summed: what the bounds rest on
  peak_process_vmem_command_id integer, -- largest address space of one process: the largest process at that moment
  peak_process_vmem_basis_id integer, -- largest address space of one process: what the bounds rest on
  peak_footprint_command_id integer, -- anonymous, shared and swapped memory, each page once: the largest process at that moment
  peak_footprint_basis_id integer, -- anonymous, shared and swapped memory, each page once: what the bounds rest on
  ge_category_id integer, -- Grid Engine's own figures; null until joined with its accounting: the options of the submission, normalised
  ge_submit_command_id integer, -- Grid Engine's own figures; null until joined with its accounting: the command line of the submission, without values of variables and arguments of the script
  ge_deleted_by_id integer, -- Grid Engine's own figures; null until joined with its accounting: who deleted the job
  metric_set_id integer, -- what the other sources say of the whole job, by metric, in its unit (qmemacct metrics): names (JSON)
  notes_id integer, -- what the reader should know about these figures: texts with \u0001 for each number (JSON)
  provenance_id integer, -- fields that come from other accounts, by account (JSON); NULL: none
  request_complex_id integer, -- complex of the request that it is judged by
  status smallint NOT NULL, -- finished, running, lost (shepherd or host died) or unsampled: 0 finished, 1 running, 2 lost, 3 unsampled
  trust smallint NOT NULL, -- data source: root sampler, usage file, accounting line, or self-reported: 0 root, 1 usage, 2 accounting, 3 self-reported
  h_vmem_per smallint, -- h_vmem request and limit on this host: what the request is for: 0 slot, 1 job, 2 host
  sampler_mode smallint, -- what the sampler itself took: small where the job's limits could not be lifted: 0 full, 1 small
  ended smallint, -- 1: the job had ended by the record's own trust and revision
  coverage smallint, -- why it has no samples: 0 sampled, 1 no-hooks, 2 never-started, 3 limits, 4 unprivileged, 5 other, 6 sampler-lost
  killed_by_memory smallint, -- 1: ended by memory
  in_project smallint, -- 1: Grid Engine has let the owner into the project, by records that no user can have written
  pe_task_id text COLLATE "C", -- task of a tightly integrated job (1.node02); null: the job's master
  run_id text COLLATE "C" NOT NULL, -- boot id (8 hex digits) . shepherd's pid . its start time in clock ticks; of a record that a user handed in, .u and the uid
  granted_hosts text COLLATE "C", -- of a parallel job's master: its hosts, as Grid Engine granted them (JSON)
  metric_values text COLLATE "C", -- what the other sources say of the whole job, by metric, in its unit (qmemacct metrics): values in the order of the names (JSON)
  note_numbers text COLLATE "C", -- what the reader should know about these figures: the numbers of each text (JSON)
  provenance_revisions text COLLATE "C" -- the revision of that account; of several accounts a list (JSON)
);
-- end of generated
CREATE INDEX record_by_job ON record (job_id, coalesce(task_id, 0));
CREATE INDEX record_by_owner ON record (owner_id, counted_at);
CREATE INDEX record_by_time ON record (counted_at);
-- Self-reported records (trust 3), which roll-ups do not count.
CREATE INDEX record_self_reported ON record (counted_at) WHERE trust = 3;
-- Running jobs by their last heartbeat: a few rows of many.
CREATE INDEX record_running ON record (revision) WHERE status = 1;

-- The chart of a record: memory over time, and other series.
CREATE TABLE series (
  record_id bigint PRIMARY KEY,
  start     bigint NOT NULL,
  step_ms   bigint NOT NULL,
  points    text NOT NULL -- JSON: the value of each step, by name: rss_bytes, cpu_cores ...
);

-- Accounts as nodes deliver them, until the merger (src/accounting/postgres/settle.ts) puts them into the table; accounts
-- of running jobs stay until the job ends. `key`, for a running job: a digest of the record's key and trust, so that only
-- the newest account stays; for an ended job: of the whole account, so that none is there twice.
CREATE TABLE inbox (
  id          bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  key         text COLLATE "C" NOT NULL UNIQUE,
  job_id      bigint NOT NULL CHECK (job_id BETWEEN 1 AND 9007199254740991), -- readers ask by it, as a number of JSON
  task_id     bigint,
  ended       boolean NOT NULL,
  revision    bigint NOT NULL,
  counted_at  bigint NOT NULL,
  owner       text,
  project     text,
  received_at timestamptz NOT NULL DEFAULT now(),
  account     text NOT NULL CHECK (octet_length(account) <= 1048576), -- the published JSON of a record
  error       text -- why it can't be put into the table
);
CREATE INDEX inbox_by_job ON inbox (job_id);
CREATE INDEX inbox_by_owner ON inbox (owner);
CREATE INDEX inbox_ended ON inbox (id) WHERE ended;

-- UTC hours (since 1970) whose records have changed since their day was summed up, and days that have been summed up, each
-- with a number that differs each time: what a reader keeps of an hour is valid as long as the number stays the same.
CREATE TABLE stale_hour (hour integer PRIMARY KEY, change bigint NOT NULL);
CREATE TABLE summed_day (day integer PRIMARY KEY, change bigint NOT NULL);
-- The days of the stale hours: their records are read instead of their sums.
CREATE VIEW stale_day AS SELECT DISTINCT hour / 24 AS day FROM stale_hour;
-- Days from which records have been pruned: their sums never change again.
CREATE TABLE pruned_day (day integer PRIMARY KEY);

-- Sums of the records of a day, or of the days of a month or year, as `Totals` names them.
-- generated: rollup
CREATE TABLE rollup (
  unit smallint NOT NULL, -- 0 day, 1 month, 2 year
  day integer NOT NULL, -- its first UTC day, since 1970
  dimension smallint NOT NULL, -- 0 all of a cluster, 1 owner, 2 project, 3 queue, 4 host, 5 name class, 6 owner's name class, 7 project's owner, 8 project's owner's name class
  cluster text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL, -- the owner, project ...; of several a line each; '': none
  records bigint NOT NULL, -- records
  jobs bigint NOT NULL, -- distinct jobs and array tasks
  running bigint NOT NULL, -- records of jobs that still run
  requested_gib_hours double precision NOT NULL, -- requested memory (the limit, where nothing else was requested) x elapsed time; each host of a parallel job once
  requested_with_used_gib_hours double precision NOT NULL, -- requested_gib_hours of records with used_gib_hours, to compare with used_with_request_gib_hours
  requested_with_peak_gib_hours double precision NOT NULL, -- requested_gib_hours of records with a peak, to compare with peak_with_request_gib_hours
  used_gib_hours double precision NOT NULL, -- resident memory integrated over time, of all records
  used_with_request_gib_hours double precision NOT NULL, -- used_gib_hours of jobs with a request
  peak_gib_hours double precision NOT NULL, -- peak of resident memory x elapsed time, of all records
  peak_with_request_gib_hours double precision NOT NULL, -- peak_gib_hours of jobs with a request
  unused_gib_hours double precision NOT NULL, -- requested memory above the peak x elapsed time, of records with both: what one held above its own request takes nothing from others, but several records of one host of a parallel job count together
  requested_with_grid_engine_gib_hours double precision NOT NULL, -- requested_gib_hours of records with Grid Engine's figure alone, to compare with grid_engine_with_request_gib_hours
  grid_engine_gib_hours double precision NOT NULL, -- Grid Engine's figure (maxvmem) x elapsed time, of records without a peak
  grid_engine_with_request_gib_hours double precision NOT NULL, -- grid_engine_gib_hours of jobs with a request
  unused_by_grid_engine_gib_hours double precision NOT NULL, -- requested memory above Grid Engine's figure x elapsed time, of records without a peak
  cpu_seconds double precision NOT NULL, -- CPU time
  slot_seconds double precision NOT NULL, -- elapsed time (suspended time left out) x slots on the host (1 where unknown); each host of a parallel job once
  above_request bigint NOT NULL, -- records whose peak of resident memory is above the limit
  far_below bigint NOT NULL, -- ended records whose peak is far below the limit
  limit_gib_hours double precision NOT NULL, -- memory limit x elapsed time; each host of a parallel job once
  energy_joules double precision NOT NULL, -- energy charged to the jobs, of records where it is known
  slot_seconds_with_energy double precision NOT NULL, -- slot seconds of records whose energy is known
  failed bigint NOT NULL, -- records of jobs that ended badly
  failed_slot_seconds double precision NOT NULL, -- slot seconds of jobs that ended badly
  killed_by_memory bigint NOT NULL, -- records of jobs that memory ended
  unsampled bigint NOT NULL, -- ended records without a sample
  without_limit bigint NOT NULL, -- records without a limit
  without_peak bigint NOT NULL, -- records without a peak
  with_grid_engine bigint NOT NULL, -- records without a peak, but with Grid Engine's figure (maxvmem)
  without_used bigint NOT NULL, -- records without memory-hours
  hours text, -- JSON: 24 requested GiB h, 24 used GiB h, 24 slot hours, by UTC hour of the day; NULL: zeros
  shares text, -- JSON: ended records by peak over limit in steps of 5 %, the last at the limit or above
  coverage text, -- JSON: ended records by why they have no samples
  PRIMARY KEY (dimension, key, unit, day, cluster)
);
-- end of generated
CREATE INDEX rollup_by_day ON rollup (unit, day, dimension);
-- Jobs of a period that had an earlier record in the same group (re-runs, parallel tasks over midnight), and when the last
-- of the earlier ones counts (ms), so that sums over several periods count each job once.
CREATE TABLE rollup_again (
  unit      smallint NOT NULL,
  day       integer NOT NULL,
  dimension smallint NOT NULL,
  cluster   text COLLATE "C" NOT NULL,
  key       text COLLATE "C" NOT NULL,
  before    bigint NOT NULL
);
CREATE INDEX rollup_again_by_day ON rollup_again (unit, day, dimension);
-- For groups with many records on a day: the day's first records in each order of lists, as JSON lists.
CREATE TABLE rollup_largest (
  day       integer NOT NULL,
  dimension smallint NOT NULL, -- as in rollup: up to 4
  key       text COLLATE "C" NOT NULL,
  sort      smallint NOT NULL, -- 0 elapsed time, 1 CPU time, 2 peak, 3 requested memory x elapsed time, 4 unused memory x elapsed time
  amounts   text NOT NULL, -- what the records are ordered by
  ids       text NOT NULL, -- of the records
  PRIMARY KEY (dimension, key, sort, day)
);
CREATE INDEX rollup_largest_by_day ON rollup_largest (day);

-- Files of Grid Engine's accounting, and how far they have been imported. An edited file, or a copy, has its own row.
CREATE TABLE imported_file (
  id         integer GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  cluster    text NOT NULL,
  head       text NOT NULL,
  head_bytes bigint NOT NULL,
  path       text NOT NULL,
  device     bigint NOT NULL,
  inode      numeric NOT NULL,
  "offset"   bigint NOT NULL,
  tail       text NOT NULL, -- hash of the last bytes before the offset
  lines      bigint NOT NULL,
  imported_at timestamptz NOT NULL DEFAULT now(), -- when its last lines came
  UNIQUE (cluster, head, head_bytes, "offset", tail)
);
CREATE TABLE unreadable_line (
  file_id  integer NOT NULL REFERENCES imported_file ON DELETE CASCADE,
  "offset" bigint NOT NULL,
  reason   text NOT NULL,
  text     text NOT NULL,
  PRIMARY KEY (file_id, "offset")
);
-- How far other stores have been taken over; 0 once that is done: then the next run begins with the first record again.
CREATE TABLE taken_over (
  source   text PRIMARY KEY,
  after_id bigint NOT NULL
);

-- The last status that qmemacct on each host reported (src/record/node-status.ts).
CREATE TABLE node (
  cluster            text COLLATE "C" NOT NULL,
  host               text COLLATE "C" NOT NULL,
  version            text NOT NULL,     -- of qmemacct
  scope              text NOT NULL,     -- job: a sampler for each job; node: one for the host
  disabled           smallint NOT NULL, -- 1: its hooks are switched off
  listener           smallint,          -- 1: runs; NULL: need not run all the time
  clock_synchronised smallint,          -- 1: by a time service; NULL: not known
  waiting            bigint NOT NULL,   -- records that had not been delivered
  waiting_since      bigint,            -- the oldest of them
  refused            bigint NOT NULL,   -- records that this DB will never take
  last_job_at        bigint,            -- when a job was last measured there
  failing_sources    text NOT NULL,     -- JSON: [{source, reason}]
  heartbeat_at           bigint NOT NULL,   -- by the clock of this server
  clock_offset_ms    bigint NOT NULL,   -- the host's clock minus this server's
  PRIMARY KEY (cluster, host),
  CHECK (octet_length(version || scope || failing_sources) <= 1048576)
);

-- Puts accounts ([{...}, ...], the published JSON) into the inbox; the hooks may only call this and the next function.
-- Returns how many accounts were new, or newer than the one there.
CREATE FUNCTION deliver(batch jsonb) RETURNS bigint LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
  WITH given AS (
    SELECT r, r ->> 'status' <> 'running' AS ended, (r ->> 'revision')::bigint AS revision,
      jsonb_build_array(r -> 'cluster', r -> 'job_id', r -> 'task_id', r -> 'pe_task_id', r -> 'host', r -> 'run_id', r -> 'trust') AS job
    FROM jsonb_array_elements(batch) AS r LIMIT 1000),
  put AS (
    INSERT INTO qmemacct.inbox AS i (key, job_id, task_id, ended, revision, counted_at, owner, project, account)
    SELECT DISTINCT ON (key) md5((CASE WHEN ended THEN r ELSE job END)::text) AS key, (r ->> 'job_id')::bigint, (r ->> 'task_id')::bigint,
      ended, revision, coalesce(extract(epoch FROM coalesce(r ->> 'ended_at',
        CASE WHEN ended THEN coalesce(r ->> 'started_at', r ->> 'submitted_at') END)::timestamptz) * 1000, revision),
      r ->> 'owner', r ->> 'project', r::text
    FROM given ORDER BY key, revision DESC
    ON CONFLICT (key) DO UPDATE SET revision = excluded.revision, counted_at = excluded.counted_at, owner = excluded.owner,
      project = excluded.project, account = excluded.account, error = NULL, received_at = now() WHERE i.revision < excluded.revision
    RETURNING 1)
  SELECT count(*) FROM put
$$;

-- Stores a host's status (a row of `node` without its last two columns); `said_at`: the time by the host's own clock.
CREATE FUNCTION heartbeat(status jsonb, said_at bigint) RETURNS void LANGUAGE sql SECURITY DEFINER SET search_path = pg_catalog, qmemacct, pg_temp AS $$
  INSERT INTO qmemacct.node
  SELECT r.* FROM (SELECT (extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms) AS now,
    jsonb_populate_record(NULL::qmemacct.node, status || jsonb_build_object('heartbeat_at', now.ms, 'clock_offset_ms', said_at - now.ms)) AS r
  ON CONFLICT (cluster, host) DO UPDATE SET version = excluded.version, scope = excluded.scope, disabled = excluded.disabled,
    listener = excluded.listener, clock_synchronised = excluded.clock_synchronised, waiting = excluded.waiting,
    waiting_since = excluded.waiting_since, refused = excluded.refused, last_job_at = excluded.last_job_at, failing_sources = excluded.failing_sources,
    heartbeat_at = excluded.heartbeat_at, clock_offset_ms = excluded.clock_offset_ms
$$;

-- generated: named
CREATE VIEW named_record AS SELECT r.*,
  (SELECT d.name FROM cluster d WHERE d.id = r.cluster_id) AS cluster,
  (SELECT d.name FROM host d WHERE d.id = r.host_id) AS host,
  (SELECT d.name FROM owner d WHERE d.id = r.owner_id) AS owner,
  (SELECT d.name FROM job_name d WHERE d.id = r.job_name_id) AS job_name,
  (SELECT d.name FROM queue d WHERE d.id = r.queue_id) AS queue,
  (SELECT d.name FROM project d WHERE d.id = r.project_id) AS project,
  (SELECT d.name FROM pe d WHERE d.id = r.pe_id) AS pe,
  (SELECT d.name FROM account d WHERE d.id = r.account_id) AS account,
  (SELECT d.name FROM program d WHERE d.id = r.program_id) AS program,
  (SELECT d.name FROM request_set d WHERE d.id = r.request_set_id) AS request_set,
  (SELECT d.name FROM complex d WHERE d.id = r.request_order_id) AS request_order,
  (SELECT d.name FROM command d WHERE d.id = r.peak_rss_command_id) AS peak_rss_command,
  (SELECT d.name FROM bracket_basis d WHERE d.id = r.peak_rss_basis_id) AS peak_rss_basis,
  (SELECT d.name FROM command d WHERE d.id = r.peak_rss_swap_command_id) AS peak_rss_swap_command,
  (SELECT d.name FROM bracket_basis d WHERE d.id = r.peak_rss_swap_basis_id) AS peak_rss_swap_basis,
  (SELECT d.name FROM command d WHERE d.id = r.peak_vmem_command_id) AS peak_vmem_command,
  (SELECT d.name FROM bracket_basis d WHERE d.id = r.peak_vmem_basis_id) AS peak_vmem_basis,
  (SELECT d.name FROM command d WHERE d.id = r.peak_process_vmem_command_id) AS peak_process_vmem_command,
  (SELECT d.name FROM bracket_basis d WHERE d.id = r.peak_process_vmem_basis_id) AS peak_process_vmem_basis,
  (SELECT d.name FROM command d WHERE d.id = r.peak_footprint_command_id) AS peak_footprint_command,
  (SELECT d.name FROM bracket_basis d WHERE d.id = r.peak_footprint_basis_id) AS peak_footprint_basis,
  (SELECT d.name FROM category d WHERE d.id = r.ge_category_id) AS ge_category,
  (SELECT d.name FROM submit_command d WHERE d.id = r.ge_submit_command_id) AS ge_submit_command,
  (SELECT d.name FROM owner d WHERE d.id = r.ge_deleted_by_id) AS ge_deleted_by,
  (SELECT d.name FROM metric_set d WHERE d.id = r.metric_set_id) AS metric_set,
  (SELECT d.name FROM notes d WHERE d.id = r.notes_id) AS notes,
  (SELECT d.name FROM provenance d WHERE d.id = r.provenance_id) AS provenance,
  (SELECT d.name FROM complex d WHERE d.id = r.request_complex_id) AS request_complex,
  s.start AS series_start,
  s.step_ms AS series_step_ms,
  s.points AS series_points
FROM record r LEFT JOIN series s ON s.record_id = r.id;
-- end of generated
-- generated: visible
CREATE VIEW own_record WITH (security_barrier) AS SELECT r.* FROM named_record r
  WHERE r.owner_id = (SELECT o.id FROM owner o WHERE o.name = session_user::text);
CREATE VIEW visible_record WITH (security_barrier) AS SELECT r.* FROM named_record r
  WHERE (SELECT pg_has_role(session_user, 'qmemacct_read', 'MEMBER')) OR (SELECT pg_has_role(session_user, 'qmemacct_owner', 'MEMBER')) OR r.owner_id = (SELECT o.id FROM owner o WHERE o.name = session_user::text)
    OR (SELECT pg_has_role(session_user, 'qmemacct_project', 'MEMBER')) AND r.project_id IN (SELECT m.project_id FROM record m WHERE m.owner_id = (SELECT o.id FROM owner o WHERE o.name = session_user::text) AND m.in_project = 1
      AND m.counted_at >= (extract(epoch FROM now()) - 92 * 86400) * 1000);
CREATE VIEW visible_inbox WITH (security_barrier) AS SELECT i.* FROM inbox i
  WHERE (SELECT pg_has_role(session_user, 'qmemacct_read', 'MEMBER')) OR (SELECT pg_has_role(session_user, 'qmemacct_owner', 'MEMBER')) OR i.owner = session_user::text
    OR (SELECT pg_has_role(session_user, 'qmemacct_project', 'MEMBER')) AND i.project IN (SELECT p.name FROM project p WHERE p.id IN (SELECT m.project_id FROM record m WHERE m.owner_id = (SELECT o.id FROM owner o WHERE o.name = session_user::text) AND m.in_project = 1
      AND m.counted_at >= (extract(epoch FROM now()) - 92 * 86400) * 1000));
-- end of generated
-- generated: views
CREATE VIEW jobs AS SELECT
  r.id AS record,
  r.cluster,
  r.job_id,
  r.task_id,
  r.pe_task_id,
  r.host,
  r.run_id,
  r.owner,
  r.job_name,
  r.queue,
  r.project,
  r.pe,
  r.account,
  r.program,
  r.slots,
  r.host_slots,
  to_timestamp(r.submitted_at / 1000.0) AS submitted_at,
  to_timestamp(r.started_at / 1000.0) AS started_at,
  to_timestamp(r.ended_at / 1000.0) AS ended_at,
  r.exit_status,
  r.signal,
  r.failed,
  CASE r.status WHEN 0 THEN 'finished' WHEN 1 THEN 'running' WHEN 2 THEN 'lost' WHEN 3 THEN 'unsampled' END AS status,
  CASE r.trust WHEN 0 THEN 'root' WHEN 1 THEN 'usage' WHEN 2 THEN 'accounting' WHEN 3 THEN 'self-reported' END AS trust,
  r.h_vmem_request_bytes,
  r.h_vmem_limit_bytes,
  CASE r.h_vmem_per WHEN 0 THEN 'slot' WHEN 1 THEN 'job' WHEN 2 THEN 'host' END AS h_vmem_per,
  r.request_order,
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
  r.ge_category,
  r.ge_submit_command,
  r.ge_deleted_by,
  r.ge_lines,
  r.revision,
  r.request_complex,
  r.limit_bytes AS request_limit_bytes,
  CASE WHEN (r.wallclock_ms - coalesce(r.suspended_ms, 0)) > 0 THEN r.cpu_ms / nullif((r.wallclock_ms - coalesce(r.suspended_ms, 0)) * 1.0 * coalesce(r.host_slots, CASE WHEN r.trust = 2 AND r.pe_task_id IS NULL
    THEN coalesce(r.slots, 1) END), 0) END AS cpu_efficiency,
  r.peak_rss_lower_bytes * 1.0 / nullif(r.limit_bytes, 0) AS memory_efficiency,
  CASE WHEN r.cluster IN ('(run)', '(demo)') THEN NULL WHEN r.started_at >= r.submitted_at THEN (r.started_at - r.submitted_at) / 1000.0 WHEN r.started_at < r.submitted_at THEN 0 END AS queue_wait_seconds,
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
FROM visible_record r;
CREATE VIEW peaks AS
SELECT r.id AS record, r.job_id, r.task_id, 'rss' AS quantity,
  r.peak_rss_lower_bytes AS lower_bytes, r.peak_rss_upper_bytes AS upper_bytes, r.peak_rss_slack_bytes AS slack_bytes,
  to_timestamp(r.peak_rss_at / 1000.0) AS at, r.peak_rss_command AS command,
  r.peak_rss_basis AS basis
FROM visible_record r WHERE r.peak_rss_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'rss_swap' AS quantity,
  r.peak_rss_swap_lower_bytes AS lower_bytes, r.peak_rss_swap_upper_bytes AS upper_bytes, r.peak_rss_swap_slack_bytes AS slack_bytes,
  to_timestamp(r.peak_rss_swap_at / 1000.0) AS at, r.peak_rss_swap_command AS command,
  r.peak_rss_swap_basis AS basis
FROM visible_record r WHERE r.peak_rss_swap_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'vmem' AS quantity,
  r.peak_vmem_lower_bytes AS lower_bytes, r.peak_vmem_upper_bytes AS upper_bytes, r.peak_vmem_slack_bytes AS slack_bytes,
  to_timestamp(r.peak_vmem_at / 1000.0) AS at, r.peak_vmem_command AS command,
  r.peak_vmem_basis AS basis
FROM visible_record r WHERE r.peak_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'process_vmem' AS quantity,
  r.peak_process_vmem_lower_bytes AS lower_bytes, r.peak_process_vmem_upper_bytes AS upper_bytes, r.peak_process_vmem_slack_bytes AS slack_bytes,
  to_timestamp(r.peak_process_vmem_at / 1000.0) AS at, r.peak_process_vmem_command AS command,
  r.peak_process_vmem_basis AS basis
FROM visible_record r WHERE r.peak_process_vmem_lower_bytes IS NOT NULL
UNION ALL
SELECT r.id AS record, r.job_id, r.task_id, 'footprint' AS quantity,
  r.peak_footprint_lower_bytes AS lower_bytes, r.peak_footprint_upper_bytes AS upper_bytes, r.peak_footprint_slack_bytes AS slack_bytes,
  to_timestamp(r.peak_footprint_at / 1000.0) AS at, r.peak_footprint_command AS command,
  r.peak_footprint_basis AS basis
FROM visible_record r WHERE r.peak_footprint_lower_bytes IS NOT NULL;
CREATE VIEW requests AS SELECT r.id AS record, r.job_id, r.task_id, 'h_vmem' AS complex,
  r.h_vmem_request_bytes AS request_bytes, r.h_vmem_limit_bytes AS limit_bytes,
  CASE r.h_vmem_per WHEN 0 THEN 'slot' WHEN 1 THEN 'job' WHEN 2 THEN 'host' END AS per
FROM visible_record r WHERE r.h_vmem_per IS NOT NULL
UNION ALL SELECT r.id, r.job_id, r.task_id, asked.key,
  (asked.value ->> 'request_bytes')::bigint, (asked.value ->> 'limit_bytes')::bigint, asked.value ->> 'per'
FROM visible_record r, json_each(r.request_set::json) AS asked;
CREATE VIEW metrics AS SELECT r.id AS record, r.job_id, r.task_id, names.metric,
  (r.metric_values::json ->> (names.at::integer - 1))::double precision AS value
FROM visible_record r, json_array_elements_text(r.metric_set::json) WITH ORDINALITY AS names (metric, at);
-- end of generated
-- generated: daily
CREATE VIEW daily AS SELECT
  date '1970-01-01' + u.day AS day,
  u.cluster,
  CASE u.dimension WHEN 0 THEN 'cluster' WHEN 1 THEN 'owner' WHEN 2 THEN 'project' WHEN 3 THEN 'queue' WHEN 4 THEN 'host' WHEN 5 THEN 'job_name' END AS dimension,
  CASE u.dimension WHEN 1 THEN nullif(u.key, '') WHEN 2 THEN nullif(u.key, '') WHEN 3 THEN nullif(u.key, '') WHEN 4 THEN nullif(u.key, '') WHEN 5 THEN nullif(u.key, '') END AS key,
  u.records, u.jobs, u.running, u.requested_gib_hours, u.requested_with_used_gib_hours, u.requested_with_peak_gib_hours, u.used_gib_hours, u.used_with_request_gib_hours, u.peak_gib_hours, u.peak_with_request_gib_hours, u.unused_gib_hours, u.requested_with_grid_engine_gib_hours, u.grid_engine_gib_hours, u.grid_engine_with_request_gib_hours, u.unused_by_grid_engine_gib_hours, u.cpu_seconds, u.slot_seconds, u.above_request, u.far_below, u.limit_gib_hours, u.energy_joules, u.slot_seconds_with_energy, u.failed, u.failed_slot_seconds, u.killed_by_memory, u.unsampled, u.without_limit, u.without_peak, u.with_grid_engine, u.without_used
FROM rollup u WHERE u.unit = 0 AND u.dimension <= 5 AND u.day NOT IN (SELECT day FROM stale_day);
-- end of generated

GRANT USAGE ON SCHEMA qmemacct TO qmemacct_deliver, qmemacct_read, qmemacct_project, qmemacct_own;
GRANT EXECUTE ON FUNCTION deliver(jsonb), heartbeat(jsonb, bigint) TO qmemacct_deliver;
GRANT SELECT ON ALL TABLES IN SCHEMA qmemacct TO qmemacct_read;
GRANT SELECT ON SEQUENCE record_id_seq TO qmemacct_read;
GRANT SELECT ON own_record, visible_record, visible_inbox, jobs, peaks, requests, metrics, node TO qmemacct_project, qmemacct_own;

import { DEFAULT_SETTINGS, type Settings } from '../../record/settings';

const ABOUT: Readonly<Record<keyof Settings, string>> = {
  cluster:
    "Name of this cluster in every record: letters, digits and . _ - (the cell's cluster_name file, else the cell).",
  grid_engine:
    'Which Grid Engine this is: "sge6.2", "ogs", "sge8.1.9", "daimh", "univa", "ocs": what its figures and its limits mean.\n# "unknown": why a job was killed is less certain.',
  state_dir:
    'Node-local directory for run directories, node.db and the outbox. Hooks know it from their installation:\n# after a change here run "qmemacct install --node" again.',
  scope:
    '"job": a sampler for each job. "node": one service for the host (hooks/qmemacct-sampler.service), which takes the jobs\n# from the prologs and finds slave tasks and jobs without hooks by itself. As state_dir: install again.',
  admin_user:
    "Grid Engine's admin user: root believes and runs what this user's and root's own accounts alone can change. Empty: whom\n# a running execd shows; where none runs, a system account that owns SGE_ROOT.",
  execd_spool_dir: "Directory that holds HOST/active_jobs; empty: Grid Engine's configuration says where.",
  run_dir:
    'Node-local directory on tmpfs: live figures of running jobs, second choice of the hooks. As state_dir: install again.',
  accounting:
    "The accounting DB, shared by all hosts: a file (SQLite), or postgres://USER@HOST/DATABASE. Another host's certificate\n# is checked with the system's CAs, or ?sslrootcert=FILE; ?sslmode=require or disable goes without.",
  accounting_credentials:
    "File of mode 0600 with PostgreSQL's password (a pgpass line), owned by who delivers. Empty: none is needed.",
  accounting_mode: 'Its octal permission: 0640 keeps it to its group, 0644 lets every user read it.',
  deliver_as:
    'User that the deliverer becomes before it opens the accounting DB (root is squashed on most NFS mounts);\n# must be in /etc/passwd of every host. Empty: nobody.',
  accept_self_reported:
    'Take records that users leave in STATE/outbox: true where the hooks run as the job\'s owner ("install --plain"),\n# false where they are root\'s. They never override what root or Grid Engine says, and no sums count them.',
  memory_complexes: 'Complexes recorded beside h_vmem.',
  interval: 'Seconds between two samples, once a job is older than 1.6 s.',
  scan_interval: 'Seconds between two scans of all of /proc for processes that left the tree (5 at least).',
  processes_per_sample: 'Largest processes kept per sample; the rest is summed as "others".',
  arm_wait_ms: 'How long the prolog waits for the sampler, in ms; 0: not at all. As state_dir: install again.',
  cpu_budget_percent: 'Percent of one core that a sampler may use before it stretches its interval.',
  keep_samples_days: 'Samples in node.db older than this many days are pruned.',
  keep_samples_mib: 'Samples are pruned, oldest first, when node.db grows beyond this many MiB.',
  delivery_jitter_ms: 'Random wait before a delivery, in ms, so that many nodes do not come at once.',
  delivery_patience:
    'Seconds that one process keeps trying a dead accounting DB before it leaves the rows to the next.',
  listener:
    'One process per node that hears fork, exec and exit events and reads the node-wide sources: what proved peaks rest on.',
  listener_linger:
    'Seconds that it stays when no sampler is left; inf: it is a service that runs from installation on, and the first fork\n# of every job is heard. As state_dir: install again.',
  initial_network_namespace: 'Those events reach only the initial network namespace; it is entered by this path.',
  cgroup: 'A memory cgroup for each job: "off"; "own": the prolog makes one; "auto": where Grid Engine made none.',
  helper_deadline: 'Seconds after which a reading that blocks (smaps, IPMI, Lustre ...) is given up.',
  heartbeat: "Seconds between two reports of running jobs' figures to the accounting DB; 0: none.",
  poll_interval: 'The live commands ask qmaster (qhost, qstat) no more often than this, in seconds.',
  usage_interval:
    "The usage of running jobs (qstat -j) is asked for no more often, in seconds: Grid Engine's load_report_time.",
  command_timeout: 'Seconds after which a command of Grid Engine that has not answered is ended.',
  serve_socket: '"qmemacct serve": its unix socket, by which the CLI asks it, too.',
  serve_address: 'The same over HTTP, on this address.',
  serve_port: 'Port for HTTP; 0: only the socket.',
  serve_hosts:
    'Names that HTTP clients may ask by beside loopback, serve_address and the names of this host: those of a proxy that\n# passes its own on. Any other is refused (421).',
  serve_tokens:
    'File (0600) with tokens, one in a line: who shows one over HTTP sees what an admin sees. Empty: no such tokens.',
  serve_names:
    'How "qmemacct serve" shows the jobs of others: "all": as they are; "anonymous": without owner and name; "own": not at\n# all, as visibility = "own".',
  serve_admins: 'Users and @groups (of the system) who see everything; root always.',
  visibility:
    'Which jobs of others users see by "qmemacct serve" and PostgreSQL: "all"; "project": those of the projects in which\n# they have run jobs in the last 92 days; "own": none. Whoever can read an SQLite file sees all that is in it.',
  accounting_files: 'Grid Engine\'s accounting files, for "qmemacct import"; empty: the cell\'s own.',
  keep_records_days: 'Days that the accounting DB keeps job records; 0: for ever.',
  keep_charts_days: "Days that it keeps the chart of a job's memory; 0: for ever.",
  keep_rollups_days: "Days that it keeps the days' sums; 0: for ever.",
  report_dir: 'Where the nightly reports are kept; empty: they are not.',
  mail_server:
    'smtp://[USER@]HOST[:PORT] or smtps://..., with ?tls=unverified, ?tls=off or ?ca=FILE where the certificate is not\n# trusted; a path: that sendmail; empty: the sendmail of this host.',
  mail_credentials: 'File of mode 0600 with the password for it; empty: none is needed.',
  mail_from: 'From whom the reports come.',
  mail_admins: "Who gets the site's report.",
  mail_domain: "Domain of the owners' addresses; empty: the local name alone.",
  mail_owners:
    'Who gets a digest of the own jobs: "nobody", "listed" (users who turned it on), "all" (except users who turned it off).',
  digest_dir:
    'Where users say whether they want it ("qmemacct digest on"); on a shared file system they can from any host.',
  sources:
    'Per source, as [sources.NAME] at the end of this file: enabled, interval (s) and its own options.\n# "qmemacct metrics" lists them.',
};

/** JSON's strings, finite numbers and lists of strings are TOML as well. */
function toml(value: Settings[keyof Settings]): string {
  return value === Infinity ? 'inf' : JSON.stringify(value).replaceAll('","', '", "');
}

/** A `qmemacct.toml` with every key explained: `chosen` ones set, the others as comments with their defaults. */
export function settingsText(chosen: Partial<Settings>): string {
  const keys = Object.keys(DEFAULT_SETTINGS) as (keyof Settings)[];
  const parts = keys.map((key) => {
    if (key === 'sources') return `# ${ABOUT[key]}\n#[sources.meminfo]\n#interval = 10\n`;
    const value = chosen[key];
    const line = value === undefined ? `#${key} = ${toml(DEFAULT_SETTINGS[key])}` : `${key} = ${toml(value)}`;
    return `# ${ABOUT[key]}\n${line}\n`;
  });
  return ['# qmemacct. A key behind a "#" has the default shown there.\n', ...parts].join('\n');
}

import { isClusterName } from '../gridengine/cluster-name';
import { DIALECTS } from '../gridengine/dialect';
import { REQUEST_ORDER } from '../gridengine/memory-complex';
import { sinkTables } from './export-sinks';
import { privateWorld } from './job-name';
import { holdsPassword, isPostgresUrl } from './postgres-url';
import {
  amount,
  choice,
  count,
  flag,
  path,
  pathOrNone,
  pathProblem,
  sourceTables,
  text,
  texts,
  textsByName,
  type Setting,
} from './setting';

const SECONDS = { unit: 's', most: 3600 } as const;
const DAYS = { least: 0, most: 36500, unit: 'days' } as const;
/** For settings that hooks and services get only from the installation. */
const AGAIN = 'After a change: "qmemacct install --node" again';

/** Why an octal permission can't be that of the accounting DB; null: it can. */
function permissionProblem(value: string): string | null {
  if (!/^0?[0-7]{3}$/.test(value)) return 'is not an octal permission';
  if (!/[67]..$/.test(value)) return 'keeps its owner from reading or writing the accounting DB';
  return /[2367]$/.test(value) ? 'lets every user write the accounting DB' : null;
}

/**
 * Every key of `qmemacct.toml`, once: type, check and defaults (settings.ts), the file that `install` writes, and
 * docs/settings.md are made from this table. A new setting is a line here and its use.
 */
export const SETTINGS = {
  cluster: text(
    '',
    `Name of this cluster in every record: letters, digits and . _ - ("install" writes the cell's cluster_name, else the cell). Empty: "default". ${AGAIN}`,
    {
      // "qmemacct run" and "demo" write settings with cluster names of their own.
      problem: (value) =>
        value === '' || isClusterName(value) || privateWorld(value) !== null ? null : 'is not a name of a cluster',
      hint: 'begin with a letter, a digit or _, and write only letters, digits and . _ -, 128 at most',
    },
  ),
  grid_engine: choice(
    DIALECTS,
    'unknown',
    'Which Grid Engine this is: what its figures, its limits and its "failed" codes mean; "install" writes what it finds. "unknown": why a job was killed is said with less certainty',
  ),
  state_dir: path(
    '/var/lib/qmemacct',
    `Node-local directory for run directories, node.db and the outbox; not on a network file system. ${AGAIN}`,
  ),
  scope: choice(
    ['job', 'node'],
    'job',
    `"job": a sampler for each job. "node": one service for the host (hooks/qmemacct-sampler.service), which takes the jobs from the prologs and finds slave tasks and jobs without hooks by itself. ${AGAIN}`,
  ),
  admin_user: text(
    '',
    "Grid Engine's admin user (\"install\" writes it): root believes and runs what this user's and root's own accounts alone can change. Empty: the one that a running execd shows; where none runs, a system account that owns SGE_ROOT. Needed for an ordinary account (uid 1000 or more) on hosts without execd",
  ),
  cell: pathOrNone(
    '',
    'Directory SGE_ROOT/SGE_CELL of Grid Engine ("install" writes it), for programs without SGE_ROOT in their environment, as daemons are. Empty: by a running daemon, or the usual places',
  ),
  execd_spool_dir: pathOrNone(
    '',
    "Directory that holds HOST/active_jobs. Empty: Grid Engine's configuration says where",
  ),
  run_dir: path(
    '/run/qmemacct',
    `Node-local directory on tmpfs: live figures of running jobs, and the hooks' second choice when state_dir can't be written. ${AGAIN}`,
  ),
  accounting: text(
    '/var/lib/qmemacct/accounting/accounting.db',
    "The accounting DB, shared by all hosts: a file (SQLite), or postgres://[USER@]HOST[:PORT]/DATABASE, with HOST1,HOST2 for a primary and its standbys. Another host's certificate is checked with the system's CAs, or ?sslrootcert=FILE; ?sslmode=require or disable goes without",
    {
      problem: (value) => {
        if (holdsPassword(value)) return 'holds a password';
        if (isPostgresUrl(value)) return null;
        return value.startsWith('/') ? pathProblem(value) : 'is not an absolute path, nor postgres://HOST/DATABASE';
      },
      hint: 'write one of these, and a password into the file of accounting_credentials',
    },
  ),
  accounting_credentials: pathOrNone(
    '',
    "File of mode 0600 with PostgreSQL's password (a pgpass line), owned by the user of deliver_as. Empty: none is needed",
  ),
  accounting_mode: text(
    '0640',
    'Octal permission of the accounting DB: "0640" keeps it to its group, "0644" lets every user read it, and so lock it against writers; its owner must be able to read and write it, and others not to write',
    { problem: permissionProblem, hint: 'write "0640", or "0644" where every user may read it' },
  ),
  deliver_as: text(
    '',
    'User that the deliverer becomes before it opens the accounting DB (root is squashed on most NFS mounts); must be in /etc/passwd of every host. "install" writes the admin user. Empty: nobody',
  ),
  accept_self_reported: flag(
    false,
    'Take records that users leave in STATE/outbox (5000 and 32 MiB per user and day): true where the hooks run as the job\'s owner ("install --plain"), false where they are root\'s; "install --node" then opens or closes that directory. They never override what root or Grid Engine says, and no sums count them',
  ),
  request_complex: texts(
    REQUEST_ORDER,
    "Complexes by which jobs request memory, a site's own among them: a job is judged by, and advised on, the first of these that it requests. Those of the default are recorded in any case",
  ),
  request_complex_by_queue: textsByName(
    'Lists that replace request_complex in some queues: { "big.q" = ["mem_free"] }',
  ),
  job_complexes: texts(
    ['mem_limit'],
    'Complexes that are requested once for the job on a host, not per slot: consumables of kind JOB, and reserved memory that is no consumable',
  ),
  host_complexes: texts([], 'Complexes that are requested once for each host of the job: consumables of kind HOST'),
  interval: amount(
    1,
    { ...SECONDS, least: 0.05 },
    'Between two samples, once a job is older than 1.6 s; 5 s or more while all of its processes sleep, of one thread each',
  ),
  scan_interval: amount(
    5,
    { ...SECONDS, least: 5 },
    'Between two scans of all of /proc for processes that left the tree',
  ),
  processes_per_sample: count(
    10,
    { least: 0, most: 1000 },
    'Largest processes kept per sample; the rest is summed as "others"',
  ),
  arm_wait_ms: amount(
    0,
    { least: 0, most: 1000, unit: 'ms' },
    `How long the prolog waits for the sampler; 0: not at all. ${AGAIN}`,
  ),
  cpu_budget_percent: amount(
    2,
    { least: 0.01, most: 100, unit: '%' },
    'Share of one core that a sampler may use before it stretches its interval',
  ),
  keep_samples_days: amount(14, DAYS, 'Older samples in node.db are pruned, those of running jobs, too'),
  keep_samples_mib: amount(
    512,
    { least: 1, most: 1048576, unit: 'MiB' },
    'Samples are pruned, oldest first, when node.db grows beyond this',
  ),
  delivery_jitter_ms: amount(
    1000,
    { least: 0, most: 600000, unit: 'ms' },
    'Longest random wait before a delivery, so that many nodes do not come at once',
  ),
  delivery_patience: amount(
    600,
    { least: 0, most: 86400, unit: 's' },
    'How long one process keeps trying a dead accounting DB before it leaves the rows to the next',
  ),
  listener: flag(
    true,
    'One process per node that receives fork, exec and exit events and reads the node-wide sources: what proved peaks, PSS, energy and node-wide series rest on',
  ),
  listener_linger: amount(
    Infinity,
    { least: 0, most: Infinity, unit: 's' },
    `How long the listener stays when no sampler is left; inf: it is a service that runs from installation on, and the first fork of every job is heard. ${AGAIN}`,
  ),
  node_series_always: flag(
    false,
    `Read the node-wide sources on an idle node, too. Otherwise they are read while jobs run, and what goes to Prometheus and to sinks with what = "node" has gaps. ${AGAIN}`,
  ),
  initial_network_namespace: text(
    '/proc/1/ns/net',
    'Fork, exec and exit events reach only the initial network namespace; the listener enters it by this path',
  ),
  cgroup: choice(
    ['off', 'auto', 'own'],
    'off',
    `A memory cgroup for each job. "own": the prolog makes one; "auto": where Grid Engine made none. ${AGAIN}`,
  ),
  helper_deadline: amount(
    5,
    { least: 0.1, most: 600, unit: 's' },
    'When a reading that blocks (smaps, IPMI, Lustre ...) is given up',
  ),
  heartbeat: amount(
    60,
    { least: 0, most: 86400, unit: 's' },
    "Between two reports of running jobs' figures to the accounting DB; 0: none",
  ),
  poll_interval: amount(10, { ...SECONDS, least: 1 }, 'The live commands ask qmaster (qhost, qstat) no more often'),
  usage_interval: amount(
    40,
    { ...SECONDS, least: 1 },
    "The usage of running jobs (qstat -j) is asked for no more often: Grid Engine's load_report_time",
  ),
  command_timeout: amount(
    30,
    { least: 1, most: 600, unit: 's' },
    'When a command of Grid Engine that has not answered is ended',
  ),
  serve_socket: path('/run/qmemacct/serve/socket', '"qmemacct serve": its unix socket, by which the CLI asks it, too'),
  serve_address: text('127.0.0.1', '"qmemacct serve": the address on which it answers HTTP'),
  serve_port: count(8080, { least: 0, most: 65535 }, 'Port for HTTP; 0: only the socket'),
  serve_hosts: texts(
    [],
    'Names by which HTTP clients may ask beside loopback, serve_address and the names of this host: those of a proxy that passes its own on. Any other is refused (421)',
  ),
  serve_url: text(
    '',
    'Address of its pages as users reach it, such as "https://qmemacct.example.org" of a proxy: "qmemacct web" prints it, and by https cookies are kept from plain HTTP. Empty: http:// with this host and serve_port',
    {
      problem: (value) =>
        value === '' || /^https?:\/\/[\w.-]+(?::\d{1,5})?\/?$/.test(value) ? null : 'is not an address without a path',
      hint: 'write it as "https://HOST" or "https://HOST:PORT"',
    },
  ),
  serve_tokens: pathOrNone(
    '',
    'File with tokens, one in a line, of mode 0600 and owned by the user of deliver_as: a client that shows one over HTTP sees what an admin sees. Empty: no such tokens',
  ),
  serve_names: choice(
    ['all', 'anonymous', 'own'],
    'all',
    'How "qmemacct serve" shows the jobs of others. "all": as they are; "anonymous": without owner and name; "own": not at all, as visibility = "own"',
  ),
  serve_admins: texts([], 'Users and @groups (of the system) who see everything over the socket; root always'),
  visibility: choice(
    ['all', 'project', 'own'],
    'all',
    'Which jobs of others users see by "qmemacct serve" and PostgreSQL. "project": those of the projects in which they have run jobs in the last 92 days; "own": none. A user who can read an SQLite file sees all that is in it',
  ),
  metrics_jobs: count(
    0,
    { least: 0, most: 10_000 },
    'Running jobs that have series of their own in /metrics and "qmemacct node --prometheus": at most this many, those that use most memory; 0: none, since each job number is a series that never comes back',
  ),
  metrics_job_names: count(
    100,
    { least: 0, most: 10_000 },
    'Names of jobs (digits that they differ in are one #) that have series of the last 24 hours in /metrics: at most this many, those with most requested memory; 0: none',
  ),
  accounting_files: texts(
    [],
    'Grid Engine\'s accounting files, for "qmemacct import", which also reads what rotation made of them (.1, -20261121.gz ...). Empty: the cell\'s own',
  ),
  keep_records_days: amount(0, DAYS, 'How long the accounting DB keeps job records; 0: for ever'),
  keep_charts_days: amount(400, DAYS, "How long the accounting DB keeps the chart of a job's memory; 0: for ever"),
  keep_rollups_days: amount(
    0,
    DAYS,
    "How long the accounting DB keeps the days' sums; 0: for ever. They are never removed before their records",
  ),
  report_dir: pathOrNone('/var/lib/qmemacct/reports', 'Where the nightly reports are kept. Empty: they are not'),
  advise_submissions: choice(
    ['warn', 'rewrite'],
    'warn',
    'What hooks/advise.jsv does where the requested memory is far off what past runs of such jobs needed. "warn": says so on the terminal; "rewrite": also sets the request to what is advised',
  ),
  rules_file: pathOrNone(
    '',
    'Rules of your own for classes of jobs, beside the shipped ones or, by their names, in their place ("qmemacct rules" lists them). Empty: the shipped ones alone',
  ),
  mail_server: text(
    '',
    'smtp://[USER@]HOST[:PORT] or smtps://..., with ?tls=unverified, ?tls=off or ?ca=FILE where the certificate is not trusted; a path: that sendmail. Empty: the sendmail of this host',
  ),
  mail_credentials: pathOrNone('', 'File of mode 0600 with the password for mail_server. Empty: none is needed'),
  mail_from: text('qmemacct', 'Sender of the reports'),
  mail_admins: texts([], "Who gets the site's report. Empty: nobody"),
  mail_domain: text('', "Domain of the owners' addresses. Empty: the local name alone"),
  mail_owners: choice(
    ['nobody', 'listed', 'all'],
    'nobody',
    'Who gets a digest of their own jobs. "listed": users who asked for it; "all": all but those who declined',
  ),
  digest_dir: path(
    '/var/lib/qmemacct/digest',
    'Where users say whether they want a digest ("qmemacct digest on"): root\'s, mode 1777; on a shared file system they can from any host',
  ),
  export_dir: path(
    '/var/lib/qmemacct/export',
    'Where "qmemacct export push" keeps what is still to be sent, and how far it is with each sink',
  ),
  export: sinkTables(
    'Where "qmemacct export push" sends figures to, each a table [[export]] at the end of the file. name: letters, digits and . _ -; kind: "graphite", "graphite-pickle", "influx", "otlp" (metrics over HTTP, JSON) or "elasticsearch" (OpenSearch, too); address: tcp:// or tls://HOST:PORT of Graphite, else the whole URL to write to, of Elasticsearch with the index; what: "node" (as "qmemacct node --prometheus"), "cluster" (as /metrics of "qmemacct serve") or "records" (of ended jobs, for Elasticsearch alone); interval: 1 to 3600 s (60); labels: of every value, { site = "x" }; credentials: file (0600) with the token, or with the password of user; ca: file with a certificate to trust beside the usual ones; names: "fructosa" gives Graphite FrUCToSA\'s; spool_mib: metrics kept while it does not answer (64), the oldest are dropped beyond',
  ),
  sources: sourceTables(
    'By source, as [sources.NAME] at the end of the file: enabled, interval (s) and its own options. "qmemacct metrics" lists them',
  ),
} as const satisfies Readonly<Record<string, Setting<unknown>>>;

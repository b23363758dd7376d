import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { DIALECTS, type Dialect } from '../gridengine/dialect';
import { holdsPassword, isPostgresUrl } from './postgres-url';
import type * as Toml from 'smol-toml' with { 'resolution-mode': 'import' };

// smol-toml ships a CommonJS build, but its types claim ESM only.
const { parse } = createRequire(__filename)('smol-toml') as typeof Toml;

/** What `qmemacct.toml` can set. Times in seconds unless the name says otherwise. */
export interface Settings {
  /** Cluster name in every record; empty: the cell's cluster_name file, else the cell. */
  readonly cluster: string;
  /** Which Grid Engine wrote the accounting lines: what its figures and its `failed` codes mean. */
  readonly grid_engine: Dialect;
  /** Node-local directory for run directories, node.db and the outbox. */
  readonly state_dir: string;
  /** "job": one sampler for each job; "node": one service for the host, which follows `active_jobs`. */
  readonly scope: string;
  /** Grid Engine's admin user, whose files root believes; empty: a running execd shows who that is, or only root is. */
  readonly admin_user: string;
  /** Directory that holds `HOST/active_jobs`; empty: Grid Engine's configuration says where. */
  readonly execd_spool_dir: string;
  /** Node-local tmpfs directory: live figures of running jobs, and the hooks' second choice when state_dir is unwritable. */
  readonly run_dir: string;
  /** The accounting DB: a path (SQLite) or `postgres://[USER@]HOST[:PORT]/DATABASE[?sslmode=...]`, without password. */
  readonly accounting: string;
  /** Octal permission of the accounting DB: 0640 keeps it to its group, 0644 lets every user read it. */
  readonly accounting_mode: string;
  /** File of mode 0600 (`pgpass` lines) with the password for PostgreSQL; empty: none is needed. */
  readonly accounting_credentials: string;
  /** User that the deliverer becomes before it opens the accounting DB. */
  readonly deliver_as: string;
  /** Take the records that hooks without privilege leave in `STATE/outbox`: the word of the jobs' owners. */
  readonly accept_self_reported: boolean;
  /** Complexes recorded beside h_vmem. */
  readonly memory_complexes: readonly string[];
  /** Between two samples once the job is older than 1.6 s. */
  readonly interval: number;
  /** Between two scans of all of /proc for processes that left the tree (never below 5). */
  readonly scan_interval: number;
  /** Largest processes kept per sample; the rest is summed as "others". */
  readonly processes_per_sample: number;
  /** How long the prolog waits for the sampler's word, in ms. */
  readonly arm_wait_ms: number;
  /** Share of one core, in percent, that a sampler may use before it stretches its interval. */
  readonly cpu_budget_percent: number;
  /** Samples in node.db older than this are pruned. */
  readonly keep_samples_days: number;
  /** Samples are pruned, oldest first, when node.db grows beyond this. */
  readonly keep_samples_mib: number;
  /** Random wait before a delivery, in ms, so that many nodes do not come at once. */
  readonly delivery_jitter_ms: number;
  /** How long one process keeps retrying a dead accounting DB before it leaves the rows to the next one. */
  readonly delivery_patience: number;
  /** One process per node that hears the kernel's fork, exec and exit events and reads the node-wide sources. */
  readonly listener: boolean;
  /** How long it stays when no sampler is left; Infinity (`inf`): always, as a service of the node. */
  readonly listener_linger: number;
  /** Netlink events reach only the initial network namespace: it is entered by this path. */
  readonly initial_network_namespace: string;
  /** "own": the prolog makes a cgroup for the job; "auto": only where Grid Engine made none; "off": never. */
  readonly cgroup: string;
  /** After this long without an answer a reading that blocks is given up and its process replaced. */
  readonly helper_deadline: number;
  /** Running jobs' figures go to the accounting DB this often; 0: not at all. */
  readonly heartbeat: number;
  /** The live commands ask qmaster (qhost, qstat) no more often than this, all users of a snapshot together. */
  readonly poll_interval: number;
  /** The usage of running jobs (qstat -j) is asked for no more often: Grid Engine's load_report_time. */
  readonly usage_interval: number;
  /** A command of Grid Engine that has not ended by then is ended. */
  readonly command_timeout: number;
  /** `qmemacct serve`: its unix socket, where the CLI looks for it, too. */
  readonly serve_socket: string;
  /** The same over HTTP; port 0: only the socket. */
  readonly serve_address: string;
  readonly serve_port: number;
  /** Names by which HTTP clients may ask beside this host's own and loopback: those of a proxy that passes them on. */
  readonly serve_hosts: readonly string[];
  /** File with tokens, one in a line: who shows one over HTTP sees what an admin sees. Empty: nobody. */
  readonly serve_tokens: string;
  /** How the server shows other users' jobs: "all", "anonymous" (no owners and names), "own" (as visibility "own"). */
  readonly serve_names: string;
  /** Users and @groups who see everything over the socket; root always. */
  readonly serve_admins: readonly string[];
  /** Which jobs of other users a user may see: "all", "project" (those of the user's own projects) or "own" (none). */
  readonly visibility: string;
  /** Grid Engine's accounting files to import; empty: the cell's. */
  readonly accounting_files: readonly string[];
  /** Days that the accounting DB keeps job records, their charts, and the days' sums; 0: for ever. */
  readonly keep_records_days: number;
  readonly keep_charts_days: number;
  readonly keep_rollups_days: number;
  /** Where the nightly reports are kept; empty: they are not. */
  readonly report_dir: string;
  /** `smtp://[USER@]HOST[:PORT][?tls=verify|unverified|off][&ca=FILE]`, `smtps://...`; a path: that sendmail; empty: the host's. */
  readonly mail_server: string;
  /** File of mode 0600 with the password for it; empty: none is needed. */
  readonly mail_credentials: string;
  readonly mail_from: string;
  /** Who gets the site's report; empty: nobody. */
  readonly mail_admins: readonly string[];
  /** Domain of the owners' addresses; empty: the local name. */
  readonly mail_domain: string;
  /** Who gets a digest of their own jobs: "nobody", "listed" (those who asked for it) or "all" (but those who declined). */
  readonly mail_owners: string;
  /** Directory (root's, 1777) where users say that they want the digest or don't: `qmemacct digest`. */
  readonly digest_dir: string;
  /** Tables `[sources.NAME]`: enabled, interval (s), and what that source alone knows. */
  readonly sources: Readonly<Record<string, SourceTable>>;
}

/** What the site may set of a source. */
export type OptionValue = string | number | boolean | readonly string[];
type SourceTable = Readonly<Record<string, OptionValue>>;

export const SETTINGS_FILE = '/etc/qmemacct/qmemacct.toml';

export const DEFAULT_SETTINGS: Settings = {
  cluster: '',
  grid_engine: 'unknown',
  state_dir: '/var/lib/qmemacct',
  scope: 'job',
  admin_user: '',
  execd_spool_dir: '',
  run_dir: '/run/qmemacct',
  accounting: '/var/lib/qmemacct/accounting/accounting.db',
  accounting_mode: '0640',
  accounting_credentials: '',
  deliver_as: '',
  accept_self_reported: false,
  memory_complexes: ['s_vmem', 'mem_free', 'virtual_free', 'h_rss', 's_rss', 'mem_limit'],
  interval: 1,
  scan_interval: 5,
  processes_per_sample: 10,
  arm_wait_ms: 0,
  cpu_budget_percent: 2,
  keep_samples_days: 14,
  keep_samples_mib: 512,
  delivery_jitter_ms: 1000,
  delivery_patience: 600,
  listener: true,
  listener_linger: Infinity,
  initial_network_namespace: '/proc/1/ns/net',
  cgroup: 'off',
  helper_deadline: 5,
  heartbeat: 60,
  poll_interval: 10,
  usage_interval: 40,
  command_timeout: 30,
  serve_socket: '/run/qmemacct/serve.sock',
  serve_address: '127.0.0.1',
  serve_port: 8080,
  serve_hosts: [],
  serve_tokens: '',
  serve_names: 'all',
  serve_admins: [],
  visibility: 'all',
  accounting_files: [],
  keep_records_days: 0,
  keep_charts_days: 400,
  keep_rollups_days: 0,
  report_dir: '/var/lib/qmemacct/reports',
  mail_server: '',
  mail_credentials: '',
  mail_from: 'qmemacct',
  mail_admins: [],
  mail_domain: '',
  mail_owners: 'nobody',
  digest_dir: '/var/lib/qmemacct/digest',
  sources: {},
};

/** Keys that take one of a few words; the first is the default. */
const CHOICES: Readonly<Partial<Record<keyof Settings, readonly string[]>>> = {
  grid_engine: DIALECTS,
  cgroup: ['off', 'auto', 'own'],
  scope: ['job', 'node'],
  serve_names: ['all', 'anonymous', 'own'],
  visibility: ['all', 'project', 'own'],
  mail_owners: ['nobody', 'listed', 'all'],
};
const PATHS: readonly (keyof Settings)[] = ['state_dir', 'run_dir', 'serve_socket', 'digest_dir'];
const PATHS_OR_NOTHING: readonly (keyof Settings)[] = [
  'execd_spool_dir',
  'serve_tokens',
  'accounting_credentials',
  'report_dir',
  'mail_credentials',
];

/** Bounds of the numeric keys: [least, most]. */
const RANGES: Readonly<Partial<Record<keyof Settings, readonly [number, number]>>> = {
  interval: [0.05, 3600],
  scan_interval: [5, 3600],
  processes_per_sample: [0, 1000],
  arm_wait_ms: [0, 1000],
  cpu_budget_percent: [0.01, 100],
  keep_samples_days: [0, 36500],
  keep_samples_mib: [1, 1048576],
  delivery_jitter_ms: [0, 600000],
  delivery_patience: [0, 86400],
  listener_linger: [0, Infinity],
  helper_deadline: [0.1, 600],
  heartbeat: [0, 86400],
  poll_interval: [1, 3600],
  usage_interval: [1, 3600],
  command_timeout: [1, 600],
  serve_port: [0, 65535],
  keep_records_days: [0, 36500],
  keep_charts_days: [0, 36500],
  keep_rollups_days: [0, 36500],
};

/** A configuration that can't be used: which file, which key, what to write instead. */
export class SettingsError extends Error {
  constructor(
    readonly path: string,
    problem: string,
    readonly hint: string,
  ) {
    super(`${path}: ${problem}; ${hint}`);
    this.name = 'SettingsError';
  }
}

/** A table of source tables; names and keys are checked where the sources are known (source-settings.ts). */
function checkedSources(path: string, value: unknown): Settings['sources'] {
  const isTable = (item: unknown): item is Record<string, unknown> =>
    typeof item === 'object' && item !== null && !Array.isArray(item) && !(item instanceof Date);
  if (!isTable(value))
    throw new SettingsError(path, '"sources" is not a table', 'write [sources.NAME] and keys below it');
  for (const [name, table] of Object.entries(value)) {
    if (!isTable(table))
      throw new SettingsError(path, `"sources.${name}" is not a table`, `write [sources.${name}] and keys below it`);
    for (const [key, item] of Object.entries(table))
      if (
        !['string', 'number', 'boolean'].includes(typeof item) &&
        !(Array.isArray(item) && item.every((word) => typeof word === 'string'))
      )
        throw new SettingsError(
          path,
          `"sources.${name}.${key}" is no string, number, boolean or list of strings`,
          'fix that line',
        );
  }
  return Object.fromEntries(Object.entries(value).map(([name, table]) => [name, { ...(table as SourceTable) }]));
}

function checkedAccounting(path: string, value: string): string {
  if (holdsPassword(value))
    throw new SettingsError(path, '"accounting" holds a password', 'put it into the file of accounting_credentials');
  if (!value.startsWith('/') && !isPostgresUrl(value))
    throw new SettingsError(
      path,
      '"accounting" is not an absolute path, nor postgres://HOST/DATABASE',
      `the default is "${DEFAULT_SETTINGS.accounting}"`,
    );
  return value;
}

function checked(path: string, key: keyof Settings, value: unknown): Settings[keyof Settings] {
  const fallback = DEFAULT_SETTINGS[key];
  if (key === 'sources') return checkedSources(path, value);
  if (typeof fallback === 'boolean') {
    if (typeof value !== 'boolean')
      throw new SettingsError(path, `"${key}" is not true or false`, `the default is ${fallback}`);
    return value;
  }
  if (typeof fallback === 'number') {
    const [least, most] = RANGES[key] ?? [0, Number.MAX_SAFE_INTEGER];
    const number = typeof value === 'bigint' ? Number(value) : value;
    if (typeof number !== 'number' || !(number >= least && number <= most))
      throw new SettingsError(
        path,
        `"${key}" is not a number ${most === Infinity ? `from ${least} on, or inf` : `of ${least} to ${most}`}`,
        `the default is ${fallback === Infinity ? 'inf' : fallback}`,
      );
    return number;
  }
  if (typeof fallback === 'string') {
    if (typeof value !== 'string') throw new SettingsError(path, `"${key}" is not a string`, `write ${key} = "..."`);
    if (key === 'accounting_mode' && !/^0?[0-7]{3}$/.test(value))
      throw new SettingsError(path, `"${key}" is not an octal permission`, 'write accounting_mode = "0640"');
    const choices = CHOICES[key];
    if (choices !== undefined && !choices.includes(value))
      throw new SettingsError(path, `"${key}" is none of ${choices.join(', ')}`, `the default is "${fallback}"`);
    if (key === 'accounting') return checkedAccounting(path, value);
    const relative = !value.startsWith('/');
    if (relative && (PATHS.includes(key) || (PATHS_OR_NOTHING.includes(key) && value !== '')))
      throw new SettingsError(path, `"${key}" is not an absolute path`, `the default is "${fallback}"`);
    return value;
  }
  if (!Array.isArray(value) || !value.every((item) => typeof item === 'string'))
    throw new SettingsError(path, `"${key}" is not a list of strings`, `write ${key} = ["name", ...]`);
  return value;
}

/** Settings from the text of a `qmemacct.toml`. Throws SettingsError on bad syntax, unknown keys or bad values. */
export function parseSettings(text: string, path: string): Settings {
  let table: Record<string, unknown>;
  try {
    table = parse(text);
  } catch (error) {
    const reason = error instanceof Error ? (error.message.split('\n')[0] ?? '') : String(error);
    throw new SettingsError(path, `not valid TOML (${reason})`, 'fix that line');
  }
  const known = new Set(Object.keys(DEFAULT_SETTINGS));
  const unknown = Object.keys(table).filter((key) => !known.has(key));
  if (unknown.length > 0)
    throw new SettingsError(path, `unknown key "${unknown.join('", "')}"`, `known are ${[...known].join(', ')}`);
  const given = Object.entries(table).map(([key, value]) => [key, checked(path, key as keyof Settings, value)]);
  return { ...DEFAULT_SETTINGS, ...(Object.fromEntries(given) as Partial<Settings>) };
}

/** Settings of a file; the defaults when `path` does not exist. */
export function loadSettings(path: string): Settings {
  let text: string;
  try {
    text = readFileSync(path, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return DEFAULT_SETTINGS;
    throw new SettingsError(path, `can't be read (${(error as Error).message})`, 'make it readable');
  }
  return parseSettings(text, path);
}

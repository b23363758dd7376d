import { accessSync, constants, existsSync, mkdirSync } from 'node:fs';
import { dirname, isAbsolute, join } from 'node:path';
import { codeOf } from '../../base/error-code';
import { denialOf, type Denial } from '../../accounting/sqlite/database/denied';
import type { AccountingReader, RecordFilter } from '../../accounting/store';
import { StoreError } from '../../accounting/store-error';
import { untrustedForRoot } from '../../base/trusted-path';
import { UserError, reasonOf } from '../../base/user-error';
import { homeDirectory } from '../../base/user-name';
import { isPostgresUrl } from '../../record/postgres-url';
import type { JobRecord } from '../../record/record';
import { privateCluster, privateWorld } from '../../record/job-name';
import { clusterName, DEFAULT_SETTINGS, SETTINGS_FILE, type Settings } from '../../record/settings';
import { CommandError, EXIT } from '../command';
import { warn } from '../output';
import type { Terminal } from '../terminal';
import type { GridEngineStore } from './grid-engine-store';

/** The option of every command that reads accounting DBs; its value is for `commandStores`. */
export const ACCOUNTING_OPTION = [
  '--accounting <path>',
  "read this accounting DB, not the site's and your own",
] as const;

/** An accounting DB that a command may read, and whose it is. */
interface StoreChoice {
  readonly path: string;
  readonly whose: 'given' | 'site' | 'own';
}

/** Path of the user's own accounting DB, where `qmemacct run` keeps records. */
export function ownStorePath(env: Terminal['env']): string {
  const state = env.XDG_STATE_HOME ?? '';
  // A relative path must be ignored (XDG base directory specification).
  return join(isAbsolute(state) ? state : join(homeDirectory(env), '.local', 'state'), 'qmemacct', 'accounting.db');
}

/** Like `ownStorePath`, but makes the directory if it is missing. Throws UserError. */
export function madeOwnStorePath(env: Terminal['env']): string {
  const path = ownStorePath(env);
  const directory = dirname(path);
  // With a user's HOME (`sudo -E`), the user could redirect root.
  const fault = untrustedForRoot(path);
  if (fault !== null)
    throw new UserError(`${directory}: ${fault}, and could lead root elsewhere`, {
      hint: "set HOME to root's own",
    });
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    return path;
  } catch (error) {
    throw new UserError(`can't make ${directory}: ${reasonOf(error)}`, {
      hint: 'set XDG_STATE_HOME to a directory that you may write to',
      cause: error,
    });
  }
}

/** The stores to read: the given one, else the site's and the user's own. */
export function chooseStores(given: string | undefined, site: string, env: Terminal['env']): StoreChoice[] {
  const own = ownStorePath(env);
  if (given !== undefined) return [{ path: given, whose: given === own ? 'own' : 'given' }];
  return [{ path: site, whose: 'site' }, ...(own === site ? [] : [{ path: own, whose: 'own' } as const])];
}

/** A reader with `more`, which may depend on the filter, added to each filter. */
function withFilter(
  reader: AccountingReader,
  more: (filter: Partial<RecordFilter>) => Partial<RecordFilter>,
): AccountingReader {
  const { tables } = reader;
  const wider = <Query extends RecordFilter>(query: Query): Query => ({ ...query, ...more(query) });
  return {
    ...reader,
    records: (query) => reader.records(wider(query)),
    pages: (query) => reader.pages(wider(query)),
    jobLines: async (query, wanted) => (await reader.jobLines?.(wider(query), wanted)) ?? null,
    summary: (query) => reader.summary(wider(query)),
    ...(tables === undefined ? {} : { tables: { ...tables, select: (query) => tables.select(wider(query)) } }),
  };
}

const NO_CLUSTER = '';

/** A reader of a store's records of one cluster only; other clusters it does not have. */
export function ofCluster(reader: AccountingReader, cluster: string): AccountingReader {
  return {
    ...withFilter(reader, ({ cluster: asked = cluster }) => ({ cluster: asked === cluster ? cluster : NO_CLUSTER })),
    job: async (query) => {
      const answer = await reader.job(query);
      return { ...answer, records: answer.records.filter(({ record }) => record.cluster === cluster) };
    },
    jobs: async (numbers, fields) =>
      (await reader.jobs(numbers, fields)).filter(({ record }) => record.cluster === cluster),
  };
}

/**
 * A user's own store, whose sums include its self-reported records. If it has jobs of the site's cluster (`sites`; null:
 * the site's DB is not read), which would count twice, only its private runs are read. Rejects with StoreError.
 */
async function ownReader(reader: AccountingReader, sites: string | null): Promise<AccountingReader> {
  const own = withFilter(reader, () => ({ self_reported: true }));
  if (sites === null) return own;
  const query = { since: 0, until: Date.now(), cluster: sites, limit: 1, totals: false } as const;
  const { records } = await own.records({ ...query, fields: ['cluster'] });
  return records.length > 0 ? ofCluster(own, privateCluster('run')) : own;
}

type OpenReader = (path: string) => AccountingReader | Promise<AccountingReader>;

/** The site's cluster, and the server that reads the site's accounting DB for those who can't. */
interface Site {
  readonly cluster: string;
  readonly socket: string;
  /** Rejects if no server answers (code ENOENT: there is no socket), or if the server can't read the DB either. */
  readonly ask: (socket: string) => Promise<AccountingReader>;
}

export interface OpenStores {
  readonly readers: readonly AccountingReader[];
  /** The reader of the caller's own store; null: not among them. */
  readonly own: AccountingReader | null;
  /** The paths of `readers`. */
  readonly opened: readonly string[];
  /** One line per store that should have been readable but was not. */
  readonly problems: readonly string[];
  /** The paths of stores that do not exist. */
  readonly missing: readonly string[];
}

const WHOSE: Readonly<Record<StoreChoice['whose'], string>> = {
  given: 'the accounting DB',
  site: "the site's accounting DB",
  own: 'your own accounting DB',
};

/** Used if the file's permissions do not show why access is denied. */
const DENIED: Denial = {
  reason: 'permission denied',
  hint: 'ask an admin to add you to the group of the file, or for "accounting_mode" 0644',
};

function missingText({ whose, path }: StoreChoice): string {
  return `${WHOSE[whose]} ${path} is not on this host`;
}

function problemOf(choice: StoreChoice, error: unknown): string {
  const which = `${WHOSE[choice.whose]} ${choice.path}`;
  if (error instanceof StoreError) return `${which} can't be read: ${error.reason}; ${error.hint}`;
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'EACCES') {
    const { reason, hint } = denialOf(choice.path, 'read') ?? DENIED;
    return `${which} can't be read: ${reason}; ${hint}`;
  }
  return `${which} can't be read: ${message}`;
}

/** Why the server did not help; '' if there is no server and none was expected. */
function serverProblem(server: Site, error: unknown, missed: boolean): string {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === 'ENOENT') return missed ? `no "qmemacct serve" at ${server.socket} answers for it` : '';
  if (error instanceof StoreError) return `"qmemacct serve" at ${server.socket} can't read it: ${error.reason}`;
  return `"qmemacct serve" at ${server.socket} does not answer for it: ${message}`;
}

/**
 * Opens the stores that exist. A missing store is no problem unless it was given by its path. If the site's store can't
 * be read from here, the site's server is asked instead.
 */
export async function openStores(choices: readonly StoreChoice[], open: OpenReader, site?: Site): Promise<OpenStores> {
  const readers: AccountingReader[] = [];
  let own: AccountingReader | null = null;
  const opened: string[] = [];
  const problems: string[] = [];
  const missing: string[] = [];
  for (const choice of choices) {
    try {
      if (!isPostgresUrl(choice.path)) accessSync(choice.path, constants.R_OK);
      const reader = await open(choice.path);
      if (choice.whose === 'own')
        readers.push((own = await ownReader(reader, readers.length > 0 ? (site?.cluster ?? null) : null)));
      else readers.push(reader);
      opened.push(choice.path);
    } catch (error) {
      const code = codeOf(error);
      const absent = code === 'ENOENT' || code === 'ENOTDIR';
      let alsoTried = '';
      if (site !== undefined && choice.whose === 'site') {
        try {
          readers.push(await site.ask(site.socket));
          opened.push(`${choice.path} by "qmemacct serve" at ${site.socket}`);
          continue;
        } catch (serverError) {
          alsoTried = serverProblem(site, serverError, !absent);
        }
      }
      if (absent && choice.whose === 'given') problems.push(`${choice.path} does not exist; check the path`);
      else if (absent && alsoTried === '') missing.push(choice.path);
      else
        problems.push([absent ? missingText(choice) : problemOf(choice, error), alsoTried].filter(Boolean).join('; '));
    }
  }
  return { readers, own, opened, problems, missing };
}

/** The exit status if nothing was found: after a problem with a store, the answer may exist all the same. */
export function emptyExitStatus({ problems }: Pick<OpenStores, 'problems'>): number {
  return problems.length > 0 ? EXIT.unavailable : EXIT.nothing;
}

/** Why there is no store to read, with the fix. */
export function noStoreMessage({ problems, missing }: OpenStores): string {
  if (problems.length > 0) return problems.join('\n');
  const which = missing.length > 1 ? `none of ${missing.join(' and ')} exists` : `${missing.join('')} does not exist`;
  return `there is no accounting DB yet: ${which}; it comes with the first job ("qmemacct doctor" checks the hooks)`;
}

/** Whether the stores hold jobs of a cluster, not only private runs: Grid Engine's accounting has been imported. */
async function knowClusters(readers: readonly AccountingReader[]): Promise<boolean> {
  for (const reader of readers) {
    const { groups } = await reader.summary({ since: 0, until: Date.now(), by: 'cluster' });
    if (groups.some(({ key }) => key !== null && privateWorld(key) === null)) return true;
  }
  return false;
}

/** Whether qmemacct is set up on this host, so that a missing site DB is worth a warning. */
const isSetUp = ({ accounting }: Settings): boolean =>
  accounting !== DEFAULT_SETTINGS.accounting || existsSync(SETTINGS_FILE);

/** Opens a DB, the site's with the site's credentials. */
function openerFor(
  { accounting, accounting_credentials: credentials }: Settings,
  open: Sources['open'],
): (path: string) => Promise<AccountingReader> {
  return (path) => open(path, path === accounting ? credentials : '');
}

/**
 * The accounting DBs that a command reads: the given one, else the site's and the caller's own; if the site's is not
 * here, the end of Grid Engine's own accounting. A DB that is expected but missing, or unreadable, is a problem.
 */
export async function commandStores(
  given: string | undefined,
  settings: Settings,
  { env }: Pick<Terminal, 'env'>,
  { open, askServer: ask, gridEngine }: Pick<Sources, 'open' | 'askServer' | 'gridEngine'>,
): Promise<OpenStores> {
  const { accounting, serve_socket: socket } = settings;
  const stores = await openStores(chooseStores(given, accounting, env), openerFor(settings, open), {
    cluster: clusterName(settings),
    socket,
    ask,
  });
  if (given !== undefined || stores.problems.length > 0 || !stores.missing.includes(accounting)) return stores;
  const missed =
    stores.readers.length > 0 && isSetUp(settings) ? [missingText({ path: accounting, whose: 'site' })] : [];
  // Grid Engine's accounting would show jobs that are in a DB as not sampled.
  if (await knowClusters(stores.readers)) return { ...stores, problems: missed };
  try {
    const { reader, says } = await gridEngine(settings, env);
    return { ...stores, readers: [reader, ...stores.readers], problems: [says] };
  } catch (error) {
    if (codeOf(error) !== 'EACCES') return { ...stores, problems: missed };
    const unreadable = `Grid Engine's own accounting can't be read: ${reasonOf(error)}`;
    return { ...stores, problems: [missingText({ path: accounting, whose: 'site' }), unreadable] };
  }
}

/** Reads open stores, then closes them. */
export async function readStores<T>(stores: OpenStores, read: (stores: OpenStores) => Promise<T>): Promise<T> {
  try {
    return await read(stores);
  } finally {
    await Promise.all(stores.readers.map((reader) => reader.close()));
  }
}

/** Reads the stores of `commandStores` and warns of their problems. Rejects with CommandError if there is none. */
export async function withStores<T>(
  given: string | undefined,
  settings: Settings,
  terminal: Terminal,
  sources: Sources,
  read: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  const stores = await commandStores(given, settings, terminal, sources);
  if (stores.readers.length === 0) throw new CommandError(noStoreMessage(stores), EXIT.unavailable);
  stores.problems.forEach((problem) => warn(terminal, problem));
  return readStores(stores, read);
}

/** Reads only the site's accounting DB; `read` gets no reader if it does not exist. */
export async function withSiteStore<T>(
  settings: Settings,
  { open, askServer: ask }: Pick<Sources, 'open' | 'askServer'>,
  read: (stores: OpenStores) => Promise<T>,
): Promise<T> {
  const { accounting, serve_socket: socket } = settings;
  const site = { cluster: clusterName(settings), socket, ask };
  return readStores(await openStores([{ path: accounting, whose: 'site' }], openerFor(settings, open), site), read);
}

/** What the commands read from; tests replace it. */
export interface Sources {
  /** Opens an accounting DB for reading; `credentials` as in StoreAccess. Rejects with StoreError. */
  readonly open: (path: string, credentials: string) => Promise<AccountingReader>;
  /** The accounting DB behind the site's server, at its unix socket. Rejects with ClientError or StoreError. */
  readonly askServer: (socket: string) => Promise<AccountingReader>;
  /** The end of Grid Engine's own accounting on this host. Rejects if there is none to read. */
  readonly gridEngine: (settings: Settings, env: Terminal['env']) => Promise<GridEngineStore>;
  /** Preliminary records of the jobs on this host that the caller may see. */
  readonly running: (settings: Settings) => Promise<readonly JobRecord[]>;
}

export const realSources: Sources = {
  open: async (path, credentials) => {
    const { openReader } = await import('../../accounting/open-store.js');
    // Rejects at once if the caller may not read it, so that the site's server is asked instead.
    return openReader(path, { tried: true, credentials });
  },
  askServer: async (socket) => {
    // Most hosts have no server: without a socket, its client is not loaded.
    accessSync(socket);
    const { openRemoteReader } = await import('../../server/client/remote-reader.js');
    return openRemoteReader(socket);
  },
  gridEngine: async (settings, env) => {
    const { findCell } = await import('../../gridengine/find-cell.js');
    // Without Grid Engine, the code that reads its files is not loaded.
    if (settings.accounting_files.length === 0 && findCell(env, settings) === null)
      throw new Error('no cell of Grid Engine is found on this host');
    const { openGridEngineStore } = await import('./grid-engine-store.js');
    return openGridEngineStore(settings, env);
  },
  running: async (settings) => {
    const { runningRecords } = await import('../../sampler/node-store/live-records.js');
    return runningRecords(settings);
  },
};

import { spawn, spawnSync } from 'node:child_process';
import type { ChildProcess } from 'node:child_process';
import { chmodSync, chownSync, existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { connect, type Connection } from '../../../src/accounting/postgres/connect';
import { initDatabase } from '../../../src/accounting/postgres/schema';
import { remembered } from '../../../src/base/remembered';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

/** A real PostgreSQL server for one test file, in a temporary directory, on a private socket. */

const VERSIONS = '/usr/lib/postgresql';

function programs(): string | null {
  if (!existsSync(VERSIONS)) return null;
  const newest = readdirSync(VERSIONS).sort((a, b) => Number(b) - Number(a));
  return newest.map((version) => join(VERSIONS, version, 'bin')).find((bin) => existsSync(join(bin, 'initdb'))) ?? null;
}

/** Why no server can be started here; false: it can. */
export const noPostgres: string | false = programs() === null ? `no PostgreSQL in ${VERSIONS}` : false;

/** The user and group that run the server: PostgreSQL refuses to run as root. */
function identity(): { readonly uid?: number; readonly gid?: number } {
  if (process.geteuid?.() !== 0) return {};
  const [, , uid, gid] =
    readFileSync('/etc/passwd', 'utf8')
      .split('\n')
      .map((line) => line.split(':'))
      .find(([name]) => name === 'postgres') ?? [];
  return { uid: Number(uid ?? 65534), gid: Number(gid ?? 65534) };
}

export interface Server {
  readonly directory: string;
  /** The server's first process. */
  readonly pid: number;
  /** The admin's role, made by initdb. */
  readonly admin: string;
  /** The URL of a database, for a role. */
  readonly url: (database: string, role?: string) => string;
  /** Makes an empty accounting DB; resolves to its name. */
  readonly database: () => Promise<string>;
  /** Runs statements as the admin. */
  readonly run: (database: string, sql: string) => Promise<readonly object[]>;
  /** Runs one of PostgreSQL's client programs as the admin, as if by hand. */
  readonly client: (program: string, ...words: readonly string[]) => void;
  /** Stops the server at once (SIGKILL, SIGQUIT) or gracefully. */
  readonly stop: (signal: NodeJS.Signals) => Promise<void>;
  /** Starts the server again unless it accepts connections. */
  readonly start: () => Promise<void>;
  /** Stops the server; its directory is removed after the tests. */
  readonly remove: () => Promise<void>;
}

export interface ServerOptions {
  /** Lines of postgresql.conf. */
  readonly settings?: readonly string[];
  /** Other users of this host may connect; use it with `access`. */
  readonly shared?: boolean;
  /** The port in the name of its socket; default 5432. */
  readonly port?: number;
  /** Further files in its data directory, by name. */
  readonly files?: Readonly<Record<string, string>>;
  /** Lines of pg_hba.conf in place of "everyone, without a password". */
  readonly access?: readonly string[];
  /** A hot standby of this server, made of a copy of it. */
  readonly standbyOf?: Server;
}

const hasEnded = ({ exitCode, signalCode }: ChildProcess): boolean => exitCode !== null || signalCode !== null;

/** A temporary directory of the user who runs the server. */
function serversDirectory(): string {
  const who = identity();
  const directory = temporaryDirectory();
  if (who.uid !== undefined) chownSync(directory, who.uid, who.gid ?? who.uid);
  return directory;
}

function runAsServer(program: string, words: readonly string[]): void {
  const { status, stderr } = spawnSync(program, words, {
    ...identity(),
    cwd: '/',
    encoding: 'utf8',
    env: { PATH: '/usr/bin:/bin' },
  });
  if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
}

const ADMIN = 'site_admin';

/** What initdb makes, to be copied for each server of this process: a copy takes a quarter of the time. */
const pristineData = remembered((initdb: string): string => {
  const data = join(serversDirectory(), 'data');
  const settings = ['-A', 'trust', '--no-locale', '-E', 'UTF8', '--no-sync', '--no-instructions'];
  runAsServer(initdb, ['-D', data, '-U', ADMIN, ...settings]);
  return data;
}, 1);

export async function startServer(options: ServerOptions = {}): Promise<Server> {
  const bin = programs();
  if (bin === null) throw new Error(String(noPostgres));
  const who = identity();
  const directory = serversDirectory();
  if (options.shared) chmodSync(directory, 0o711);
  const data = join(directory, 'data');
  const copied = options.standbyOf?.directory;
  if (copied === undefined) runAsServer('cp', ['-a', pristineData(join(bin, 'initdb')), data]);
  else {
    const how = ['-R', '-c', 'fast', '-X', 'stream', '--no-sync'];
    runAsServer(join(bin, 'pg_basebackup'), ['-h', copied, '-U', ADMIN, '-D', data, ...how]);
  }
  const file = (name: string, lines: readonly string[]): void => {
    const text = `${lines.join('\n')}\n`;
    const written = spawnSync('tee', [...(name === 'pg_hba.conf' ? [] : ['-a']), join(data, name)], {
      ...who,
      input: text,
      stdio: ['pipe', 'ignore', 'inherit'],
    });
    if (written.status !== 0) throw new Error(`${name} could not be written`);
  };
  file('postgresql.conf', [
    `unix_socket_directories = '${directory}'`,
    "listen_addresses = ''",
    'shared_buffers = 32MB',
    'max_connections = 120',
    // No test cuts the power: the kernel keeps what a killed process has written.
    'fsync = off',
    ...(options.settings ?? []),
  ]);
  for (const [name, text] of Object.entries(options.files ?? {})) {
    file(name, [text]);
    chmodSync(join(data, name), 0o600);
  }
  if (options.access !== undefined) file('pg_hba.conf', options.access);

  let child: ChildProcess | null = null;
  let log = '';
  let stopped = Promise.resolve();
  const url = (database: string, role = ADMIN): string =>
    `postgres://${role}@/${database}?host=${encodeURIComponent(directory)}${options.port === undefined ? '' : `&port=${options.port}`}`;
  const launch = (): ChildProcess => {
    const started = spawn(join(bin, 'postgres'), ['-D', data], {
      ...who,
      cwd: '/',
      stdio: ['ignore', 'ignore', 'pipe'],
      env: { PATH: '/usr/bin:/bin' },
    });
    log = '';
    started.stderr.setEncoding('utf8').on('data', (text: string) => {
      log = (log + text).slice(-4000);
    });
    return started;
  };
  /** Waits until the server accepts connections; false: it ended, since processes of the last one still use its memory. */
  const accepts = async (running: ChildProcess): Promise<boolean> => {
    const words = ['-q', '-h', directory, '-p', String(options.port ?? 5432)];
    let isOver = hasEnded(running);
    running.once('close', () => (isOver = true));
    await until(() => isOver || spawnSync(join(bin, 'pg_isready'), words).status === 0, 'postgres');
    if (isOver && !/pre-existing shared memory block .* is still in use/.test(log))
      throw new Error(`postgres did not start: ${log}`);
    return !isOver;
  };
  const start = async (): Promise<void> => {
    await stopped;
    // After a full disk the server may be about to end.
    if (child !== null && (await accepts(child).catch(() => false))) return;
    // After a SIGKILL the server's other processes notice only after a while that they must end.
    await until(() => accepts((child = launch())), 'postgres');
  };
  /** In the database `postgres`, kept for all databases to be made: a connection costs more than the copy. */
  let maintenance: Connection | null = null;
  const stop = (signal: NodeJS.Signals): Promise<void> => {
    const running = child;
    child = null;
    void maintenance?.close().catch(() => undefined);
    maintenance = null;
    if (running !== null && !hasEnded(running)) {
      stopped = new Promise((resolve) => running.once('exit', () => resolve()));
      running.kill(signal);
    }
    return stopped;
  };
  const run = async (database: string, sql: string): Promise<readonly object[]> => {
    const db = connect(url(database));
    try {
      return await db.query(sql);
    } finally {
      await db.close();
    }
  };
  await start();
  let databases = 0;
  let template: Promise<void> | null = null;
  const makeTemplate = async (): Promise<void> => {
    await run('postgres', 'CREATE DATABASE pattern');
    const db = connect(url('pattern'));
    await initDatabase(db);
    await db.close();
    // A database can be copied only without sessions, and a session ends later than its connection.
    const sessions = "SELECT FROM pg_stat_activity WHERE datname = 'pattern'";
    await until(async () => (await run('postgres', sessions)).length === 0);
  };
  return {
    directory,
    get pid() {
      return child?.pid ?? 0;
    },
    admin: ADMIN,
    url,
    database: async () => {
      template ??= makeTemplate();
      await template;
      const name = `accounting_${++databases}`;
      // The default, a copy through the log, takes half as long again.
      maintenance ??= connect(url('postgres'));
      await maintenance.query(`CREATE DATABASE ${name} TEMPLATE pattern STRATEGY FILE_COPY`);
      return name;
    },
    run,
    client: (program, ...words) => {
      const { status, stderr } = spawnSync(join(bin, program), ['-h', directory, '-U', ADMIN, ...words], {
        encoding: 'utf8',
      });
      if (status !== 0) throw new Error(`${program} failed: ${stderr}`);
    },
    stop,
    start,
    remove: async () => {
      // SIGINT: a fast shutdown, which ends the sessions.
      await stop('SIGINT');
    },
  };
}

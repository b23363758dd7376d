import { userInfo } from 'node:os';
import postgres from 'postgres';
import { StoreError } from '../store-error';
import { readPassword } from './credentials';
import { isConnectionLost, isStoreFault, storeError } from './faults';
import { locationOf } from './location';
import type { Location } from './location';
import { certificatesIn, systemCertificates } from './trusted-certificates';

const CONNECT_SECONDS = 10;
/** The longest work of one statement: summing up a day, pruning. */
const SILENCE_MS = 600_000;

/** A value that a statement takes. Lists and objects go as JSON text, in their own type on the server. */
export type Value = string | number | boolean | null;

/** A connection to the database, made with the first statement. No statement leaves anything behind in the session. */
export interface Connection {
  /** The URL, for messages. */
  readonly text: string;
  /** The rows of one statement, `$1` ... in it standing for `values`. Rejects with StoreError, or with what is wrong with the values. */
  query<Row extends object>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  /** The same, each row an array of its columns. */
  rows<Row extends readonly unknown[]>(sql: string, values?: readonly Value[]): Promise<readonly Row[]>;
  /** Statements in one transaction; `mode` as BEGIN takes it. */
  transaction<T>(work: (inner: Transaction) => Promise<T>, mode?: string): Promise<T>;
  close(): Promise<void>;
}

/** Statements of one transaction. */
export type Transaction = Pick<Connection, 'query' | 'rows'>;

export interface ConnectOptions {
  /** pgpass file; empty: none. */
  readonly credentials?: string;
  /** How long a server may be silent, in ms, before it is given up. */
  readonly silenceMs?: number;
}

type Tls = NonNullable<postgres.Options<Record<string, never>>['ssl']>;

function tlsOf({ sslMode, sslRootCert, host, text }: Location): Tls | false {
  if (sslMode === 'disable' || host.startsWith('/')) return false;
  if (sslMode !== 'verify-full') return sslMode;
  // The host is named, since for an address Node would look for "localhost" in the certificate.
  const ca = sslRootCert === null ? systemCertificates() : certificatesIn(sslRootCert, text);
  return { host, rejectUnauthorized: true, ...(ca === null ? {} : { ca }) };
}

function osUser(): string {
  try {
    return userInfo().username;
  } catch {
    return String(process.geteuid?.() ?? '');
  }
}

type WithSilenceLimit = <T>(work: (answered: () => void) => Promise<T>) => Promise<T>;

/** A server that falls silent must not hold a deliverer, or all who ask `serve`, for ever. `answered`: it has answered a step. */
function silenceLimit(text: string, silenceMs: number): WithSilenceLimit {
  return async (work) => {
    let timer: NodeJS.Timeout | undefined;
    let over = false;
    let giveUp: (fault: StoreError) => void = () => undefined;
    const silence = new Promise<never>((_resolve, reject) => (giveUp = reject));
    const answered = (): void => {
      clearTimeout(timer);
      if (over) return;
      timer = setTimeout(
        () => giveUp(new StoreError(text, 'the server stopped answering', 'check that it runs', true)),
        silenceMs,
      );
    };
    answered();
    try {
      return await Promise.race([work(answered), silence]);
    } catch (error) {
      throw storeError(text, error);
    } finally {
      over = true;
      clearTimeout(timer);
    }
  };
}

type Client = postgres.Sql<{ int8: number }>;
type Asked = Client | postgres.TransactionSql<{ int8: number }>;

async function ask<Row extends object>(on: Asked, sql: string, values: readonly Value[] = []): Promise<readonly Row[]> {
  return [...(await on.unsafe<Row[]>(sql, [...values]))];
}

async function askRows<Row extends readonly unknown[]>(
  on: Asked,
  sql: string,
  values: readonly Value[] = [],
): Promise<readonly Row[]> {
  return [...((await on.unsafe(sql, [...values]).values()) as readonly unknown[] as readonly Row[])];
}

/**
 * Once a connection has gone, the client would send the rest of its transaction (statements, ROLLBACK, COMMIT) through
 * no socket, which ends the process, or in the session that it opens next (porsager/postgres#1208). So nothing of a
 * transaction is settled after that; that its connection has closed fails it as a whole.
 */
async function transact<T>(
  { sql, text }: { readonly sql: Client; readonly text: string },
  work: (inner: Transaction) => Promise<T>,
  mode: string,
  answered: () => void,
): Promise<T> {
  const never = new Promise<never>(() => undefined);
  let open = true;
  const step = async <R>(statement: () => Promise<R>): Promise<R> => {
    if (!open) return never;
    answered();
    try {
      return await statement();
    } catch (error) {
      if (isConnectionLost(error)) open = false;
      throw storeError(text, error);
    } finally {
      answered();
    }
  };
  try {
    return (await sql.begin(mode, (inner) =>
      work({
        query: (statement, values) => step(() => ask(inner, statement, values)),
        rows: (statement, values) => step(() => askRows(inner, statement, values)),
      }).finally(() => (open ? undefined : never)),
    )) as T;
  } finally {
    open = false;
  }
}

/** Opens the database of a URL. Throws StoreError where the URL or the credentials can't be used. */
export function connect(url: string, options: ConnectOptions = {}): Connection {
  const location = locationOf(url);
  const { host, port, database, text } = location;
  const user = location.user ?? osUser();
  const password = options.credentials ? readPassword(options.credentials, { host, port, database, user }) : null;
  const sql = postgres({
    host,
    port,
    database,
    user,
    ssl: tlsOf(location),
    max: 1,
    // PgBouncer may give each transaction another session.
    prepare: false,
    fetch_types: false,
    connect_timeout: CONNECT_SECONDS,
    // Not asked for over and over by the library itself: who calls has patience of its own.
    backoff: () => 0,
    onnotice: () => undefined,
    // int8: no number of ours is beyond 2^53.
    types: { int8: { to: 20, from: [20], serialize: String, parse: Number } },
    connection: { application_name: 'qmemacct' },
    ...(password === null ? {} : { password }),
  });
  const withSilenceLimit = silenceLimit(text, options.silenceMs ?? SILENCE_MS);
  return {
    text,
    query: (statement, values) => withSilenceLimit(() => ask(sql, statement, values)),
    rows: (statement, values) => withSilenceLimit(() => askRows(sql, statement, values)),
    transaction: <T>(work: (inner: Transaction) => Promise<T>, mode = '') =>
      withSilenceLimit((answered) => transact({ sql, text }, work, mode, answered)),
    close: () => sql.end({ timeout: 5 }),
  };
}

export { isStoreFault };

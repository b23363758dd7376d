import { callerName } from '../../base/user-name';
import { readPassword } from './credentials';
import { locationsOf } from './location';
import { Primary } from './primary';
import type { Session, SessionOptions, Value } from './session';

/** The longest work of one statement: summing up a day, pruning. */
const SILENCE_MS = 600_000;
/** How long to wait for a connection: to the only server, or to all of several together. */
const CONNECT_MS = 10_000;

/** A connection to the database, made with the first statement. No statement leaves anything behind in the session. */
export interface Connection {
  /** The URL, for messages. */
  readonly text: string;
  /** The pgpass file; empty: none. */
  readonly credentials: string;
  /** The rows of a statement; `$1` ... stand for `values`. Rejects with StoreError, or an error about the values. */
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

/** Else a function that anyone may make in `public` (by default before PostgreSQL 15) could be called in place of ours. */
const OWN_NAMES_ONLY = 'SET LOCAL search_path = pg_catalog, pg_temp';

async function transact<T>(session: Session, work: (inner: Transaction) => Promise<T>, mode: string): Promise<T> {
  /** Why the transaction takes no more statements. */
  let over: Error | null = null;
  const step: Session['ask'] = async (sql, values, form) => {
    if (over !== null) throw over;
    try {
      return await session.ask(sql, values, form);
    } catch (error) {
      throw (over ??= error as Error);
    }
  };
  await step(`BEGIN ${mode}; ${OWN_NAMES_ONLY}`, [], 'arrays');
  try {
    const inner: Transaction = {
      query: (sql, values = []) => step(sql, values, 'objects'),
      rows: (sql, values = []) => step(sql, values, 'arrays'),
    };
    const result = await session.unlessLost(work(inner));
    await step('COMMIT', [], 'arrays');
    over = new Error('the transaction is over');
    return result;
  } catch (error) {
    over ??= error as Error;
    // If even that fails, the server rolls back when the session ends.
    await session.ask('ROLLBACK', [], 'arrays').catch(() => undefined);
    throw error;
  }
}

/**
 * Opens the database of a URL. Each session takes the password that the file then has. Throws StoreError where the URL
 * or the credentials can't be used.
 */
export function connect(url: string, options: ConnectOptions = {}): Connection {
  const locations = locationsOf(url);
  const { credentials = '', silenceMs = SILENCE_MS } = options;
  const servers = (): readonly SessionOptions[] =>
    locations.map((location) => {
      const user = location.user ?? callerName();
      const password = credentials ? readPassword(credentials, { ...location, user }) : null;
      return { location, user, password, silenceMs, connectMs: CONNECT_MS / locations.length };
    });
  servers();
  const primary = new Primary(url, servers);
  let last: Promise<unknown> = Promise.resolve();
  /** A session does one thing at a time; if it is lost, what waits for it gets a new session. */
  const inTurn = <T>(work: (session: Session) => Promise<T>): Promise<T> => {
    const turn = last.then(() => primary.open()).then(work);
    last = turn.catch(() => undefined);
    return turn;
  };
  return {
    text: url,
    credentials,
    query: (sql, values = []) => inTurn((on) => on.ask(sql, values, 'objects')),
    rows: (sql, values = []) => inTurn((on) => on.ask(sql, values, 'arrays')),
    transaction: (work, mode = '') => inTurn((on) => transact(on, work, mode)),
    close: () => primary.close(),
  };
}

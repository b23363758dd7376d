import { createConnection, isIP, type Socket } from 'node:net';
import { once } from 'node:events';
import postgres from 'postgres';
import { StoreError } from '../store-error';
import { storeError } from './faults';
import type { Location } from './location';
import { withoutNul } from './words';
import { certificatesIn, systemCertificates } from './trusted-certificates';

/** A value that a statement takes. Lists and objects are sent as JSON text, which the statement casts. */
export type Value = string | number | boolean | null;

export interface SessionOptions {
  readonly location: Location;
  readonly user: string;
  readonly password: string | null;
  /** How long a server may be silent, in ms, before it is given up. */
  readonly silenceMs: number;
  /** How long to wait for a connection, in ms. */
  readonly connectMs: number;
}

type Client = postgres.Sql<{ int8: number }>;
type Tls = NonNullable<postgres.Options<Record<string, never>>['ssl']>;

function tlsOf({ sslMode, sslRootCert, host, text }: Location): Tls | false {
  if (sslMode === 'disable' || host.startsWith('/')) return false;
  if (sslMode === 'prefer') return sslMode;
  // Given an address without `host`, Node would look for "localhost" in the certificate.
  const named = isIP(host) === 0 ? { host, servername: host } : { host };
  if (sslMode === 'require') return { ...named, rejectUnauthorized: false };
  const ca = sslRootCert === null ? systemCertificates() : certificatesIn(sslRootCert, text);
  return { ...named, rejectUnauthorized: true, ...(ca === null ? {} : { ca }) };
}

/** A value as the database takes it: texts can't contain NUL. */
const sent = (value: Value): Value => (typeof value === 'string' ? withoutNul(value) : value);

class TimedOut extends Error {
  readonly code = 'ETIMEDOUT';
}

/**
 * A session with the server, which begins with its first statement. A lost session is never reopened: the client would
 * send the rest of a transaction in the session that it opens next, retry without end if the server closes every
 * connection, or never send its first message (porsager/postgres#1193, #1208, #1216).
 */
export class Session {
  private why: Error | null = null;
  /** The rejecting functions of promises that must reject when the session is lost. */
  private readonly waiting = new Set<(reason: Error) => void>();
  private socket: Socket | null = null;
  private readonly client: Client;

  /** Throws StoreError if the certificates that the location names can't be read. */
  constructor(private readonly options: SessionOptions) {
    const { host, port, database } = options.location;
    const settings: postgres.Options<{ int8: postgres.PostgresType<number> }> & { socket: () => Promise<Socket> } = {
      host,
      port,
      database,
      user: options.user,
      ...(options.password === null ? {} : { password: options.password }),
      ssl: tlsOf(options.location),
      socket: () => this.connect(),
      max: 1,
      // PgBouncer may give each transaction another session.
      prepare: false,
      fetch_types: false,
      connect_timeout: options.connectMs / 1000,
      onclose: () => this.lose(this.failure('the connection was lost', 'try again in a moment')),
      onnotice: () => undefined,
      // int8: no number of ours is beyond 2^53.
      types: { int8: { to: 20, from: [20], serialize: String, parse: Number } },
      connection: { application_name: 'qmemacct' },
    };
    this.client = postgres(settings);
  }

  get lost(): boolean {
    return this.why !== null;
  }

  /** The result of `work`; rejects if the session is lost before. */
  unlessLost<T>(work: PromiseLike<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      this.waiting.add(reject);
      const done = (): boolean => this.waiting.delete(reject);
      work.then(resolve, reject).then(done, done);
      if (this.why !== null) reject(this.why);
    });
  }

  /** The rows of one statement, each an object or an array of its columns. Rejects as `Connection.query` says. */
  async ask<Row>(sql: string, values: readonly Value[], form: 'objects' | 'arrays'): Promise<readonly Row[]> {
    const silence = setTimeout(() => {
      this.lose(this.failure('the server stopped answering', 'check that it runs, and who keeps tables locked there'));
      this.socket?.destroy();
    }, this.options.silenceMs);
    try {
      if (this.why !== null) throw this.why;
      const asked = this.client.unsafe(sql, values.map(sent));
      // The client does not settle every pending statement when its connection is lost.
      const rows = await this.unlessLost<unknown>(form === 'arrays' ? asked.values() : asked);
      return [...(rows as readonly unknown[] as readonly Row[])];
    } catch (error) {
      throw storeError(this.options.location.text, error);
    } finally {
      clearTimeout(silence);
    }
  }

  async end(): Promise<void> {
    if (!this.lost) await this.client.end({ timeout: 5 });
    this.socket?.destroy();
  }

  private lose(reason: Error): void {
    this.why ??= reason;
    for (const reject of this.waiting) reject(this.why);
  }

  /** An error that may pass by itself. */
  failure(reason: string, hint: string): StoreError {
    return new StoreError(this.options.location.text, reason, hint, true);
  }

  /** A connected socket. Rejects if asked for a second one: the first was lost before the session had begun. */
  private async connect(): Promise<Socket> {
    try {
      if (this.socket !== null)
        throw this.failure('the server ends the connection at once', 'see that PostgreSQL runs there');
      const { host, port } = this.options.location;
      const where = host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port };
      const socket = (this.socket = createConnection(where));
      const late = setTimeout(() => socket.destroy(new TimedOut('no connection')), this.options.connectMs);
      await once(socket, 'connect').finally(() => clearTimeout(late));
      return socket;
    } catch (error) {
      this.lose(error as Error);
      throw error;
    }
  }
}

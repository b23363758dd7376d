import { reasonOf } from '../../base/user-error';
import { StoreError } from '../store-error';
import { Session, type SessionOptions } from './session';

/** A server that takes no writes. */
interface Refusal {
  /** HOST:PORT. */
  readonly server: string;
  readonly error: StoreError;
}

/** Why a server takes no writes; null: it takes them. */
async function problemOf(session: Session): Promise<StoreError | null> {
  try {
    const [row] = await session.ask<[boolean]>('SELECT pg_is_in_recovery()', [], 'arrays');
    return row?.[0] === true ? session.failure('it is a standby', 'see which server is the primary') : null;
  } catch (error) {
    return error instanceof StoreError ? error : session.failure(reasonOf(error), "see the server's log");
  }
}

/** The only server of an accounting DB, or that of several which takes writes: after a failover another one. */
export class Primary {
  /** In use, or being tried. */
  private session: Session | null = null;
  private isChosen = false;
  private closed = false;

  /** `servers`: at least one, in the order in which to try them; asked before each search. */
  constructor(
    private readonly url: string,
    private readonly servers: () => readonly SessionOptions[],
  ) {}

  /** A session that is not lost, as far as is known. Rejects with StoreError if none of several servers takes writes. */
  async open(): Promise<Session> {
    const { session } = this;
    if (session !== null && (this.closed || (this.isChosen && !session.lost))) return session;
    this.isChosen = false;
    const refusals: Refusal[] = [];
    const servers = this.servers();
    for (const server of servers) {
      if (this.closed) throw new StoreError(this.url, 'the connection was closed', 'try again', true);
      const tried = (this.session = new Session(server));
      // The only server says itself what it does not do.
      const error = servers.length === 1 ? null : await problemOf(tried);
      this.isChosen = error === null;
      if (error === null) return tried;
      const { host, port } = server.location;
      refusals.push({ server: `${host}:${port}`, error });
      await tried.end();
    }
    throw this.noneTakesWrites(refusals);
  }

  async close(): Promise<void> {
    this.closed = true;
    await this.session?.end();
  }

  private noneTakesWrites(refusals: readonly Refusal[]): StoreError {
    const reasons = refusals.map(({ server, error }) => `${server}: ${error.reason}`);
    const lasting = refusals.find(({ error }) => !error.retry);
    const hint = lasting?.error.hint ?? 'see which of them is the primary, and that it runs';
    const retry = refusals.some(({ error }) => error.retry);
    return new StoreError(this.url, `none of its servers takes writes: ${reasons.join('; ')}`, hint, retry);
  }
}

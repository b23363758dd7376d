import { createHash, randomBytes } from 'node:crypto';
import { monotonicMs } from '../../base/monotonic';
import { HOUR_MS } from '../../base/units';
import { countedUid } from './caller';
import type { UserNames } from './name-service';

/** Who has signed in: a user of this system, or the holder of a token. */
export type Credential = { readonly uid: number } | { readonly token: string };

const SESSION_MS = 12 * HOUR_MS;
const INVITATION_MS = 5 * 60_000;
/** Above this, the oldest is dropped; each takes some hundred bytes. */
const MOST = 10_000;
/** Limits for one user or token, so that nobody's are dropped for another's. */
const SESSIONS_EACH = 100;
const INVITATIONS_EACH = 5;

interface Kept<T> {
  readonly holder: string;
  readonly value: T;
  readonly until: number;
}

/** Values under random names that only their holder knows; of a name, only its digest is kept. */
class Secrets<T> {
  private readonly kept = new Map<string, Kept<T>>();

  constructor(
    private readonly lastsMs: number,
    private readonly mostEach: number,
    private readonly clock: () => number,
  ) {}

  /** The new name: 256 random bits. */
  add(value: T, holder: string): string {
    const name = randomBytes(32).toString('base64url');
    const own = [...this.kept].filter(([, kept]) => kept.holder === holder).map(([known]) => known);
    const [oldest] = own.length < this.mostEach ? this.kept.keys() : own;
    const isFull = own.length >= this.mostEach || this.kept.size >= MOST;
    if (isFull && oldest !== undefined) this.kept.delete(oldest);
    this.kept.set(digest(name), { holder, value, until: this.clock() + this.lastsMs });
    return name;
  }

  /** null: no such name, or its time is over. */
  get(name: string): T | null {
    const found = this.kept.get(digest(name));
    return found !== undefined && this.clock() < found.until ? found.value : null;
  }

  remove(name: string): void {
    this.kept.delete(digest(name));
  }
}

const digest = (name: string): string => createHash('sha256').update(name).digest('base64');

/**
 * Who has signed in with a browser, in memory: a restart signs everybody out. A session keeps the credential that it
 * was begun with, so that it is worth nothing once that token is no longer accepted or that user no longer known.
 */
export class Sessions {
  private readonly sessions: Secrets<Credential>;
  private readonly invitations: Secrets<number>;

  /** `clock`: ms, monotonic. */
  constructor(
    private readonly names: UserNames,
    clock: () => number = monotonicMs,
  ) {
    this.sessions = new Secrets(SESSION_MS, SESSIONS_EACH, clock);
    this.invitations = new Secrets(INVITATION_MS, INVITATIONS_EACH, clock);
  }

  /** Begins a session; its secret goes into the cookie. */
  async open(credential: Credential): Promise<{ readonly secret: string; readonly seconds: number }> {
    const holder = await this.holderOf(credential);
    return { secret: this.sessions.add(credential, holder), seconds: SESSION_MS / 1000 };
  }

  /** null: there is none, or it is over. */
  credentialOf(secret: string): Credential | null {
    return this.sessions.get(secret);
  }

  close(secret: string): void {
    this.sessions.remove(secret);
  }

  /** A code with which a user may sign in once, within some minutes. */
  async invite(uid: number): Promise<{ readonly code: string; readonly seconds: number }> {
    const holder = await this.holderOf({ uid });
    return { code: this.invitations.add(uid, holder), seconds: INVITATION_MS / 1000 };
  }

  /** The uid that a code is for; null: it has been used, or its time is over. */
  invited(code: string): number | null {
    return this.invitations.get(code);
  }

  /** Like `invited`; also uses up the code. */
  redeem(code: string): number | null {
    const uid = this.invitations.get(code);
    this.invitations.remove(code);
    return uid;
  }

  private async holderOf(credential: Credential): Promise<string> {
    return 'uid' in credential ? `uid ${await countedUid(credential.uid, this.names)}` : `token ${credential.token}`;
  }
}

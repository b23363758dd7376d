import { HttpProblem } from '../http/http-problem';
import { bearerToken, type Caller, type CallerRules } from './caller';
import type { Sessions } from './sessions';

const COOKIE = 'qmemacct_session';

/** The secret in a `Cookie` header; undefined: there is none. */
export function sessionCookie(header: string | undefined): string | undefined {
  const pairs = (header ?? '').split(';').map((pair) => pair.trim());
  return pairs.find((pair) => pair.startsWith(`${COOKIE}=`))?.slice(COOKIE.length + 1);
}

/**
 * `Set-Cookie` that keeps a secret for some seconds; '' and 0 delete it. `secure`: the cookie is sent by HTTPS only.
 */
export function cookieFor(secret: string, seconds: number, secure: boolean): string {
  return `${COOKIE}=${secret}; Path=/; Max-Age=${seconds}; HttpOnly; SameSite=Strict${secure ? '; Secure' : ''}`;
}

/** A browser that has signed in. */
export interface SignedIn {
  readonly secret: string;
  /** "alice", "a token". */
  readonly name: string;
}

type SessionRules = Pick<CallerRules, 'tokens' | 'names'> & { readonly sessions: Sessions };

/**
 * The caller for whom a session's cookie stands, and the session; a caller without a cookie unchanged. Rejects with
 * HttpProblem 401 if the session is over, unknown, or was begun with a token that is no longer accepted.
 */
export async function resolveSession(
  caller: Caller,
  { sessions, tokens, names }: SessionRules,
): Promise<{ readonly caller: Caller; readonly signedIn: SignedIn | null }> {
  const { session: secret, uid, authorization } = caller;
  if (secret === undefined || uid !== null || bearerToken(authorization) !== null) return { caller, signedIn: null };
  const credential = sessions.credentialOf(secret);
  if (credential === null || ('token' in credential && !tokens.has(credential.token))) {
    sessions.close(secret);
    throw new HttpProblem(401, 'you are no longer signed in here; sign in again, or go on as everybody', {
      'Set-Cookie': cookieFor('', 0, false),
    });
  }
  if ('token' in credential)
    return {
      caller: { ...caller, authorization: `Bearer ${credential.token}` },
      signedIn: { secret, name: 'a token' },
    };
  const { uid: user } = credential;
  const name = (await names.user(user))?.name ?? `uid ${user}`;
  return { caller: { ...caller, uid: user }, signedIn: { secret, name } };
}

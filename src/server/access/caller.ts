import type { Settings } from '../../record/settings';
import { hostAddress } from '../http/host-header';
import { HttpProblem } from '../http/http-problem';
import { FULL_ACCESS, type Access } from './access';
import type { Tokens } from './tokens';
import type { UserNames } from './name-service';

/** What is known of the sender of a request. */
export interface Caller {
  /** By the kernel over the unix socket, or by a session; null: neither. */
  readonly uid: number | null;
  /** The `Authorization` header. Over HTTP, only this and a session's cookie say who asks. */
  readonly authorization: string | undefined;
  /** Secret of a session, from its cookie. */
  readonly session?: string | undefined;
  /** Address of the host at the other end, over HTTP. */
  readonly address?: string | undefined;
}

/**
 * Stands for all users that the name service does not know; they count as one, since a user namespace gives one person
 * thousands of uids. No user has this uid.
 */
export const UNKNOWN_UID = -1;

/** Root or the server's own user: valid even if the name service does not know them. */
export const isOwnUid = (uid: number): boolean => uid === 0 || uid === process.getuid?.();

/** The uid to which a user's connections, requests and sessions count. */
export async function countedUid(uid: number, names: Pick<UserNames, 'user'>): Promise<number> {
  return isOwnUid(uid) || (await names.user(uid)) !== null ? uid : UNKNOWN_UID;
}

/** Who takes turns: the user, else the token (a bad one is refused before), else the host. */
export async function callerKey({ uid, authorization, address }: Caller, names: UserNames): Promise<string> {
  if (uid !== null) return `uid ${await countedUid(uid, names)}`;
  const token = bearerToken(authorization);
  return token === null ? `host ${hostAddress(address ?? '')}` : `token ${token}`;
}

export interface CallerRules {
  readonly settings: Pick<Settings, 'serve_names' | 'serve_admins' | 'visibility'>;
  readonly tokens: Pick<Tokens, 'has'>;
  readonly names: UserNames;
  /** Projects whose jobs a user may see where `visibility` is "project". */
  readonly projectsOf: (user: string) => Promise<readonly string[]>;
}

/** What strangers see: `serve_names` and `visibility` both apply, so the stricter of the two wins. */
function accessOfStrangers({ serve_names: names, visibility }: CallerRules['settings']): Access {
  const named = names === 'all' || names === 'own';
  if (names === 'own' || visibility === 'own') return { level: 'own', user: null };
  if (visibility === 'project') return { level: 'project', user: null, projects: [], named };
  return named ? FULL_ACCESS : { level: 'anonymous', user: null };
}

/** What a known user sees, made from what strangers see. */
async function accessOfUser(user: string, strangers: Access, { projectsOf }: CallerRules): Promise<Access> {
  if (strangers.level === 'all') return strangers;
  return strangers.level === 'project'
    ? { ...strangers, user, projects: await projectsOf(user) }
    : { ...strangers, user };
}

/** Token of an `Authorization: Bearer` header; null: none, or another scheme (a proxy's own). */
export function bearerToken(authorization: string | undefined): string | null {
  return /^Bearer +([\x21-\x7e]{1,512}) *$/i.exec(authorization ?? '')?.[1] ?? null;
}

async function isAdmin(name: string, gids: readonly number[], { settings, names }: CallerRules): Promise<boolean> {
  for (const admin of settings.serve_admins) {
    if (admin === name) return true;
    if (!admin.startsWith('@')) continue;
    const gid = await names.group(admin.slice(1));
    if (gid !== null && gids.includes(gid)) return true;
  }
  return false;
}

/** What a caller may see. Rejects with HttpProblem 401 for a token that is not one of the site's. */
export async function accessOf(caller: Caller, rules: CallerRules): Promise<Access> {
  const { settings, tokens, names } = rules;
  const token = bearerToken(caller.authorization);
  if (token !== null) {
    if (tokens.has(token)) return FULL_ACCESS;
    throw new HttpProblem(401, 'this token is not accepted here; leave it out to see what everybody sees', {
      'WWW-Authenticate': 'Bearer',
    });
  }
  const strangers = accessOfStrangers(settings);
  if (strangers.level === 'all' || caller.uid === 0) return FULL_ACCESS;
  const user = caller.uid === null ? null : await names.user(caller.uid);
  if (user === null) return strangers;
  return (await isAdmin(user.name, user.gids, rules)) ? FULL_ACCESS : accessOfUser(user.name, strangers, rules);
}

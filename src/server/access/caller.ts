import type { Settings } from '../../record/settings';
import { hostAddress } from '../http/host-header';
import { HttpProblem } from '../http/http-problem';
import { FULL_ACCESS, type Access } from './access';
import type { Tokens } from './tokens';
import type { UserNames } from './name-service';

/** How a request came. */
export interface Caller {
  /** By the kernel, over the unix socket; null: over HTTP. */
  readonly uid: number | null;
  /** `Authorization`; beside it a session's cookie alone says who a request is from. */
  readonly authorization: string | undefined;
  /** Secret of a session, out of its cookie. */
  readonly session?: string | undefined;
  /** Of the host at the other end, over HTTP. */
  readonly address?: string | undefined;
}

/**
 * For whom all users count together whom the name service does not know: a user namespace gives one person thousands of
 * uids. No user has this one.
 */
export const UNKNOWN_UID = -1;

/** Root and the server's own user need no name. */
export const isOwnUid = (uid: number): boolean => uid === 0 || uid === process.getuid?.();

/** The uid for which a user's connections, requests and sessions count. */
export async function countedUid(uid: number, names: Pick<UserNames, 'user'>): Promise<number> {
  return isOwnUid(uid) || (await names.user(uid)) !== null ? uid : UNKNOWN_UID;
}

/** Whose turn a request is: the user's, else the token's (a bad one gets no turn), else the host's. */
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

/** What strangers see: `serve_names` and `visibility` both hold, so of two the stricter. */
function accessOfStrangers({ serve_names: names, visibility }: CallerRules['settings']): Access {
  const named = names === 'all' || names === 'own';
  if (names === 'own' || visibility === 'own') return { level: 'own', user: null };
  if (visibility === 'project') return { level: 'project', user: null, projects: [], named };
  return named ? FULL_ACCESS : { level: 'anonymous', user: null };
}

/** The same for a user who is known. */
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

/** What a caller may see. Rejects with HttpProblem 401 where it shows a token that is none. */
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

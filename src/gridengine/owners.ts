import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { ROOT_ALONE, untrusted } from '../base/trusted-path';
import { passwdEntry } from '../base/user-name';
import { daemons } from './daemons';

const DEFAULT_UID_MIN = 1000;

function askForUid(user: string): number | null {
  if (!/^[A-Za-z_][\w.-]*\$?$/.test(user)) return null;
  const digits = passwdEntry(0, user)?.[2] ?? '';
  return /^\d+$/.test(digits) ? Number(digits) : null;
}

const known = new Map<string, number>();

/** Uid of a user, by /etc/passwd or the name service (bounded), kept once it is known; null: no such user. */
export function uidOf(user: string): number | null {
  const uid = known.get(user) ?? askForUid(user);
  if (uid !== null) known.set(user, uid);
  return uid;
}

/** Accounts with a uid below this are the system's, and no person's (login.defs(5)). */
function firstUserUid(): number {
  try {
    const found = /^\s*UID_MIN\s+(\d+)/m.exec(readFileSync('/etc/login.defs', 'utf8'))?.[1];
    return Number(found ?? DEFAULT_UID_MIN);
  } catch {
    return DEFAULT_UID_MIN;
  }
}

/**
 * Accounts whose files of Grid Engine root trusts: root, and the admin user where root itself has named it: by
 * `admin_user` in qmemacct.toml (`configured`), or, where that is empty, by an execd or qmaster that root started and
 * that works as the owner of its spool directory. A shepherd proves nothing: before a hook of root's it works as the
 * job's owner in the owner's directory, for as long as that owner likes (an output file that is a FIFO).
 */
export function gridEngineOwners(configured: string, procRoot = '/proc'): ReadonlySet<number> {
  if (configured !== '') {
    const named = uidOf(configured);
    return named === null ? ROOT_ALONE : new Set([...ROOT_ALONE, named]);
  }
  const working = daemons(ROOT_ALONE, procRoot).flatMap(({ name, effectiveUid, directoryUid }) =>
    name !== 'sge_shepherd' && effectiveUid === directoryUid ? effectiveUid : [],
  );
  return new Set([...ROOT_ALONE, ...working]);
}

/**
 * The owner of an SGE_ROOT that is trusted for its place, where no daemon of this host names its admin user: a system
 * account that `bootstrap` names as the admin user, in a directory that only root can have made there. The bootstrap
 * file alone proves nothing, for a user could have written it, too. null: nobody.
 */
export function ownerByPlace(root: string, adminUser: string | null): number | null {
  if (adminUser === null) return null;
  try {
    const place = realpathSync(root);
    const { uid } = lstatSync(place);
    if (uid === 0 || uid >= firstUserUid() || uidOf(adminUser) !== uid) return null;
    return untrusted(dirname(place)) === null && untrusted(dirname(root)) === null ? uid : null;
  } catch {
    return null;
  }
}

import { constants, lstatSync, openSync, readlinkSync, type Stats } from 'node:fs';
import { resolve } from 'node:path';
import { codeOf } from './error-code';
import { UserError } from './user-error';

/**
 * The one rule for what root believes, runs, or hands over: a path is trusted if nobody but trusted accounts could
 * change what it leads to. Every directory on the way, those of symbolic links included, must belong to a trusted
 * account and not be writable by others. A sticky directory may be, but then its entry on the way must belong to a
 * trusted account.
 */
export const ROOT_ALONE: ReadonlySet<number> = new Set([0]);

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;
/** As the kernel's own limit (path_resolution(7)). */
const MOST_LINKS = 40;

function writers(path: string, { uid, gid, mode }: Stats, trusted: ReadonlySet<number>): string | null {
  if (!trusted.has(uid)) return `${path} belongs to uid ${uid}`;
  if (mode & OTHERS_WRITE) return `everyone can write to ${path}`;
  // Even root's own group: with an access control list the group's bits are its mask (acl(5)).
  if (mode & GROUP_WRITE) return `group ${gid} can write to ${path}`;
  return null;
}

/** Whether it is a directory in which everyone may add entries, but replace only their own. */
const isSticky = (found: Stats): boolean => found.isDirectory() && (found.mode & STICKY) !== 0;

/** The result of lstat; null: nothing is there; a text: why lstat failed. */
function look(path: string): Stats | string | null {
  try {
    return lstatSync(path);
  } catch (error) {
    const { code = 'unknown error' } = error as NodeJS.ErrnoException;
    return code === 'ENOENT' || code === 'ENOTDIR' ? null : `${path} can't be looked at (${code})`;
  }
}

/**
 * Why someone other than `trusted` could change what an absolute path leads to, or create what is missing there; null:
 * nobody could. A relative path is never trusted.
 */
export function untrusted(path: string, trusted: ReadonlySet<number> = ROOT_ALONE): string | null {
  if (!path.startsWith('/')) return `${path} is not an absolute path`;
  const rest = path.split('/');
  let here = '/';
  let links = 0;
  for (;;) {
    const found = look(here);
    if (found === null || typeof found === 'string') return found;
    if (!found.isDirectory() || rest.every((part) => part === '' || part === '.')) return writers(here, found, trusted);
    if (!trusted.has(found.uid) || !isSticky(found)) {
      const reason = writers(here, found, trusted);
      if (reason !== null) return reason;
    }
    const part = rest.shift() ?? '';
    if (part === '' || part === '.') continue;
    if (part === '..') {
      here = here.slice(0, here.lastIndexOf('/')) || '/';
      continue;
    }
    const next = here === '/' ? `/${part}` : `${here}/${part}`;
    const there = look(next);
    if (typeof there === 'string') return there;
    // Anyone who may write to the directory could put something there.
    if (there === null) return writers(here, found, trusted);
    if (!there.isSymbolicLink()) here = next;
    else if (++links > MOST_LINKS) return `${path} leads through more than ${MOST_LINKS} links`;
    else if (isSticky(found) && !trusted.has(there.uid)) return `${next} belongs to uid ${there.uid}`;
    else {
      const target = readlinkSync(next);
      rest.unshift(...target.split('/'));
      if (target.startsWith('/')) here = '/';
    }
  }
}

/** The same if we are root; null for anyone else, who has only themselves to harm. */
export const untrustedForRoot = (path: string): string | null => (process.geteuid?.() === 0 ? untrusted(path) : null);

/** Root would trust something that it must not trust. */
export class UntrustedError extends UserError {
  constructor(
    readonly what: string,
    readonly reason: string,
    hint: string,
  ) {
    super(`${what}: ${reason}`, { hint });
  }
}

/** Throws UntrustedError, about `what`, if we are root and others could replace the `path` that we have just made. */
export function requireOwnPath(path: string, what: string): void {
  const reason = untrustedForRoot(path);
  if (reason !== null)
    throw new UntrustedError(
      what,
      `${reason}, and could lead root elsewhere`,
      'name a place that only root can change',
    );
}

/**
 * Opens a file for writing; unless `flags` say otherwise it is made if missing, else emptied. Throws an error of node:fs,
 * or UntrustedError for a link that somebody else could have put there if we are root.
 */
export function openOutput(path: string, flags = constants.O_CREAT | constants.O_TRUNC): number {
  const reason = untrustedForRoot(resolve(path));
  const follow = reason === null ? 0 : constants.O_NOFOLLOW;
  try {
    return openSync(path, constants.O_WRONLY | flags | follow, 0o666);
  } catch (error) {
    if (reason === null || codeOf(error) !== 'ELOOP') throw error;
    throw new UntrustedError(path, `it is a link, and ${reason}`, 'name the file itself');
  }
}

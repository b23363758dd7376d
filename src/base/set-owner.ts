import { closeSync, constants, fchmodSync, fchownSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { untrusted, UntrustedError } from './trusted-path';

export interface Ownership {
  readonly uid: number;
  readonly gid: number;
}

/** What a path names is opened first, and no link followed: another file can't be put in its place meanwhile. */
function withOpened(path: string, flags: number, change: (descriptor: number) => void): void {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | flags);
  try {
    change(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** chmod(2) of the file or directory itself, whatever the umask; of no link (ELOOP). */
export function setMode(path: string, mode: number): void {
  withOpened(path, 0, (descriptor) => fchmodSync(descriptor, mode));
}

/** Takes writing from others, of a directory that is still this user's. */
export function closeToOthers(path: string, uid: number): void {
  withOpened(path, constants.O_DIRECTORY, (descriptor) => {
    const found = fstatSync(descriptor);
    if (found.uid !== uid) throw new Error(`belongs to uid ${found.uid} by now`);
    fchmodSync(descriptor, found.mode & 0o7775);
  });
}

/**
 * Makes a directory, or puts owner and mode of the one that is there right. Throws UntrustedError where somebody else than
 * root could lead the path elsewhere, and a system error where it is a link or a file.
 */
export function makeOwnedDirectory(path: string, mode: number, { uid, gid }: Ownership): void {
  const reason = untrusted(dirname(path));
  if (reason !== null)
    throw new UntrustedError(
      path,
      `${reason}, and could lead root elsewhere`,
      `make it by hand: install -d -m ${mode.toString(8)} -o ${uid} -g ${gid} ${path}`,
    );
  mkdirSync(path, { recursive: true, mode: 0o755 });
  withOpened(path, constants.O_DIRECTORY, (descriptor) => {
    // Giving it away takes set-user and set-group bits off.
    fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode);
  });
}

import { closeSync, constants, fchmodSync, fchownSync, fstatSync, mkdirSync, openSync } from 'node:fs';
import { dirname } from 'node:path';
import { untrusted, UntrustedError } from './trusted-path';

export interface Ownership {
  readonly uid: number;
  readonly gid: number;
}

/** Opens the path first, without following a link, so that nobody can replace the file meanwhile. */
function withOpened(path: string, flags: number, change: (descriptor: number) => void): void {
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | flags);
  try {
    change(descriptor);
  } finally {
    closeSync(descriptor);
  }
}

/** Sets the mode of a file or directory, whatever the umask; throws ELOOP for a link. */
export function setMode(path: string, mode: number): void {
  withOpened(path, 0, (descriptor) => fchmodSync(descriptor, mode));
}

/** Removes others' permission to write to a directory. Throws an Error if it does not belong to `uid` any more. */
export function closeToOthers(path: string, uid: number): void {
  withOpened(path, constants.O_DIRECTORY, (descriptor) => {
    const found = fstatSync(descriptor);
    if (found.uid !== uid) throw new Error(`belongs to uid ${found.uid} by now`);
    fchmodSync(descriptor, found.mode & 0o7775);
  });
}

/**
 * Makes a directory, or corrects the owner and mode of an existing one. Throws UntrustedError if somebody other than
 * root could redirect the path, and a system error if it is a link or a file.
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
    // chown first: it clears the set-user and set-group bits.
    fchownSync(descriptor, uid, gid);
    fchmodSync(descriptor, mode);
  });
}

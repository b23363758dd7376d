import { constants, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { isPermitted, accessFault } from '../../../base/file-state';
import { userName } from '../../../base/user-name';

/** That permissions keep this process from a store: at which file or directory, and what to change there. */
export interface Denial {
  readonly reason: string;
  readonly hint: string;
}

export type StoreUse = 'read' | 'write';

/** The directories above a path, `/` first. */
function above(path: string): readonly string[] {
  const directory = dirname(path);
  return directory === path ? [] : [...above(directory), directory];
}

/** Permissions keep out root only if a file server maps it to nobody. */
const SQUASHED = 'run it on the file server or as the user that deliver_as names: root is nobody on this file system';

/** What to do about a file system that is read-only. */
export const MOUNT_WRITABLE =
  'mount it for writing; if the kernel made it read-only, its log (dmesg) names the fault of the disk';

const ASK_AN_ADMIN =
  'ask an admin to start "qmemacct serve", which answers for it, or for membership in the group that may read it';

/** What a reader can do: another user's store is closed on purpose, and the server answers for it. */
function readFix(path: string, mode: string): string {
  return statSync(path).uid === process.geteuid?.() ? `chmod ${mode} ${path}` : ASK_AN_ADMIN;
}

/** How an admin lets `user` write what belongs to another. */
function handOver(path: string, user: string): string {
  const owner = userName(statSync(path).uid);
  if (owner === user) return `chmod u+w ${path}`;
  const other = owner === 'root' ? 'to a user who may write there' : `= "${owner}"`;
  return `chown ${user} ${path}, or set deliver_as ${other} in qmemacct.toml`;
}

/** The permissions that keep this process from using the store at `path`; null: none. */
export function denialOf(path: string, use: StoreUse): Denial | null {
  const user = userName(process.geteuid?.() ?? 0);
  const root = process.geteuid?.() === 0;
  const directories = above(path);
  const closed = directories.find((directory) => !isPermitted(directory, constants.X_OK));
  const hint = (fix: string): string => (root ? SQUASHED : fix);
  if (closed !== undefined) {
    // The directory is missing, not denied.
    const found = statSync(closed, { throwIfNoEntry: false });
    if (found === undefined) return null;
    const isOwn = found.uid === process.geteuid?.();
    const fix = use === 'read' ? readFix(closed, 'u+x') : `chmod ${isOwn ? 'u+rwx' : 'a+x'} ${closed}`;
    return { reason: `user "${user}" may not enter ${closed}`, hint: hint(fix) };
  }
  if (use === 'read') {
    if (isPermitted(path, constants.R_OK)) return null;
    return { reason: `user "${user}" may not read it`, hint: hint(readFix(path, 'u+rw')) };
  }
  const directory = dirname(path);
  for (const place of [directory, path]) {
    const refusal = accessFault(place, constants.W_OK);
    if (refusal === 'EROFS') return { reason: `the file system of ${directory} is read-only`, hint: MOUNT_WRITABLE };
    if (refusal === null || statSync(place, { throwIfNoEntry: false }) === undefined) continue;
    return { reason: `user "${user}" may not write ${place}`, hint: hint(handOver(place, user)) };
  }
  return null;
}

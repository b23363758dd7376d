import { realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { codeOf } from '../../base/error-code';
import { networkFilesystem } from '../../accounting/network-filesystem';
import { untrusted } from '../../base/trusted-path';
import { localAccounts } from '../../base/user-name';

/** The real path of `path`, or of its deepest existing parent directory. */
function existing(path: string): string {
  for (let here = path; ; here = dirname(here))
    try {
      return realpathSync(here);
    } catch (error) {
      if (codeOf(error) !== 'ENOENT') throw error;
    }
}

/** Type of the network file system that holds `path`, or would hold it once created; null: a local one. */
export function networkFilesystemOf(path: string): string | null {
  return networkFilesystem(existing(path));
}

/** Whether a path lies under someone's home directory, which may be unreadable or away when a job starts. */
function inHome(path: string): boolean {
  const homes = ['/home', '/root'];
  for (const [, , uid, , , home] of localAccounts())
    if (Number(uid) >= 1000 && home !== undefined && home.length > 1 && home !== '/nonexistent') homes.push(home);
  return homes.some((home) => path.startsWith(`${home}/`));
}

/** Which Node the hooks start. */
export interface NodeBinary {
  readonly path: string;
  /** Why the installation gets a copy; null: Node is used where it is. */
  readonly copyReason: string | null;
}

function reasonToCopy(path: string, source: string): string | null {
  // An upgrade or removal of the package would replace or remove it while jobs run.
  if (path.startsWith(`${realpathSync(source)}/`)) return 'it comes with the program';
  const network = networkFilesystemOf(path);
  if (network !== null) return `${network} file system`;
  return untrusted(path) ?? (inHome(path) ? 'in a home directory' : null);
}

/**
 * Chooses the Node for the hooks. A root hook may only start what root alone can change, and what does not depend on a
 * network or a home directory. `source`: the program to install.
 */
export function chooseNode(execPath: string, source: string): NodeBinary {
  const path = realpathSync(execPath);
  return { path, copyReason: reasonToCopy(path, source) };
}

import { lstatSync, readFileSync, realpathSync } from 'node:fs';
import { dirname } from 'node:path';
import { networkFilesystem } from '../../accounting/network-filesystem';

const GROUP_WRITE = 0o020;
const OTHERS_WRITE = 0o002;
const STICKY = 0o1000;

/** `path` and the directories above it, the root last; what does not exist yet is left out. */
function existing(path: string): readonly string[] {
  let here = path;
  for (;;) {
    try {
      here = realpathSync(here);
      break;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'ENOENT') throw error;
      here = dirname(here);
    }
  }
  const chain = [here];
  while (here !== dirname(here)) {
    here = dirname(here);
    chain.push(here);
  }
  return chain;
}

/** Why someone else than root could change what root would read or run at `path`; null when nobody can. */
export function untrusted(path: string): string | null {
  for (const [index, part] of existing(path).entries()) {
    const { uid, gid, mode } = lstatSync(part);
    if (uid !== 0) return `${part} belongs to uid ${uid}`;
    // In a sticky directory above, nobody can replace what root owns.
    if (index > 0 && mode & STICKY) continue;
    if (mode & OTHERS_WRITE) return `everyone can write to ${part}`;
    if (mode & GROUP_WRITE && gid !== 0) return `group ${gid} can write to ${part}`;
  }
  return null;
}

/** Type of the network file system that holds `path`, or would hold it once created; null: a local one. */
export function networkFilesystemOf(path: string): string | null {
  return networkFilesystem(existing(path)[0] ?? '/');
}

/** Whether a path lies under someone's home directory, which may be unreadable or away when a job starts. */
export function inHome(path: string): boolean {
  const homes = ['/home', '/root'];
  for (const line of readFileSync('/etc/passwd', 'utf8').split('\n')) {
    const [, , uid, , , home] = line.split(':');
    if (Number(uid) >= 1000 && home !== undefined && home.length > 1 && home !== '/nonexistent') homes.push(home);
  }
  return homes.some((home) => path.startsWith(`${home}/`));
}

/**
 * `node upgrade.js PATH`: brings the store at PATH to this build's schema, as the user who runs it; what is wrong goes to
 * stderr, with exit status 1.
 */
import { spawnSync } from 'node:child_process';
import { accessSync, constants, realpathSync, statSync } from 'node:fs';
import { dirname } from 'node:path';
import { StoreError } from '../store-error';
import { openForWriting } from './open';

const ONLY_PERMISSIONS = 0o777;

function upgradeHere(path: string): void {
  openForWriting(path, statSync(path).mode & ONLY_PERMISSIONS).close();
}

function isWritable(path: string): boolean {
  try {
    accessSync(path, constants.W_OK);
    accessSync(dirname(path), constants.W_OK);
    return true;
  } catch {
    return false;
  }
}

/** Root does not open for writing what others may have put there (and on a network file system often may not). */
function upgradeAs(uid: number, gid: number, path: string): void {
  const options = { cwd: '/', uid, gid, encoding: 'utf8', env: { PATH: '/usr/bin:/bin' } } as const;
  const { status, stderr, error } = spawnSync(process.execPath, [__filename, path], options);
  if (status !== 0)
    throw new StoreError(
      path,
      `its upgrade to this qmemacct's schema failed: ${error?.message ?? stderr.trim()}`,
      'run this as its owner',
      false,
      error,
    );
}

/**
 * Brings the store at `path` to this build's schema where it is the caller's own, or the caller is root. False: it is
 * another user's, or can't be written. Throws StoreError.
 */
export function upgrade(path: string): boolean {
  const file = realpathSync(path);
  const { uid, gid } = statSync(file);
  const caller = process.geteuid?.();
  if (caller === uid) {
    if (!isWritable(file)) return false;
    upgradeHere(file);
    return true;
  }
  if (caller !== 0) return false;
  upgradeAs(uid, gid, file);
  return true;
}

if (require.main === module)
  try {
    upgradeHere(process.argv[2] ?? '');
  } catch (error) {
    process.stderr.write(error instanceof Error ? error.message : String(error));
    process.exitCode = 1;
  }

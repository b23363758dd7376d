import { closeSync, constants, fchmodSync, fstatSync, mkdirSync, openSync, statSync } from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { codeOf } from '../base/error-code';
import { homeDirectory } from '../base/user-name';

/** Whether a directory, or the target of a link, is this user's, and nobody else may write to it. */
function isOurs(path: string): boolean {
  try {
    const { uid, mode } = statSync(path);
    return uid === process.geteuid?.() && (mode & 0o022) === 0;
  } catch {
    return false;
  }
}

/** Makes `path` if it is missing, and ensures that it is our own directory, closed to others (0700). Throws if not. */
function makeOwn(path: string): void {
  try {
    mkdirSync(path, { mode: 0o700 });
  } catch (error) {
    if (codeOf(error) !== 'EEXIST') throw error;
  }
  const descriptor = openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
  try {
    const { uid, mode } = fstatSync(descriptor);
    if (uid !== process.geteuid?.()) throw new Error(`${path} belongs to user ${uid}`);
    if ((mode & 0o777) !== 0o700) fchmodSync(descriptor, 0o700);
  } finally {
    closeSync(descriptor);
  }
}

/**
 * The user's own directory for what the live commands on this host share: in XDG_RUNTIME_DIR, else in the home
 * directory's `.cache`, with the host's name, as hosts may share the home. Makes it (0700). Throws, with the reason, if
 * somebody else could have planted the directory.
 */
export function privateDirectory(env: NodeJS.ProcessEnv): string {
  const runtime = env.XDG_RUNTIME_DIR ?? '';
  if (runtime.startsWith('/') && isOurs(runtime)) {
    const path = join(runtime, 'qmemacct');
    makeOwn(path);
    return path;
  }
  const home = homeDirectory(env);
  if (!isOurs(home)) throw new Error(`${home} is not the user's own, or others may write in it`);
  const cache = join(home, '.cache');
  // It may be a link that the user made, to a disk with more room.
  if (!isOurs(cache)) makeOwn(cache);
  const ours = join(cache, 'qmemacct');
  makeOwn(ours);
  const path = join(ours, hostname());
  makeOwn(path);
  return path;
}

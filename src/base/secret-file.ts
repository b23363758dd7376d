import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { UserError } from './user-error';

const MOST_BYTES = 4096;
const OTHERS = 0o077;

/** The secret in the first line of a file that nobody else can read. `setting`: what names the file. Throws UserError. */
export function readSecret(path: string, setting: string): string {
  const refuse = (problem: string, cause?: unknown): UserError =>
    new UserError(`${setting}: ${path}: ${problem}`, { cause });
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw refuse(`can't be read: ${(error as Error).message}`, error);
  }
  try {
    const { mode, uid, size } = fstatSync(descriptor);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw refuse('is not a regular file');
    if ((mode & OTHERS) !== 0) throw refuse(`others may read or write it; chmod 600 ${path}`);
    if (uid !== 0 && uid !== process.geteuid?.())
      throw refuse(`belongs to uid ${uid}; give it to the user that runs this`);
    if (size > MOST_BYTES) throw refuse(`is larger than ${MOST_BYTES} bytes; it is to hold only the secret`);
    const buffer = Buffer.alloc(MOST_BYTES);
    const secret = buffer.toString('utf8', 0, readSync(descriptor, buffer)).split(/\r?\n/, 1)[0] ?? '';
    if (secret === '') throw refuse('its first line is empty; it holds the secret');
    return secret;
  } finally {
    closeSync(descriptor);
  }
}

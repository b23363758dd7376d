import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { CommandError, EXIT } from '../command';

const MOST_BYTES = 4096;
const OTHERS = 0o077;

function refuse(path: string, problem: string, cause?: unknown): CommandError {
  return new CommandError(`mail_credentials: ${path}: ${problem}`, EXIT.unavailable, { cause });
}

/** The password in the first line of a file that nobody else can read. Throws CommandError. */
export function readPassword(path: string): string {
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
  } catch (error) {
    throw refuse(path, `can't be read: ${(error as Error).message}`, error);
  }
  try {
    const { mode, uid, size } = fstatSync(descriptor);
    if ((mode & constants.S_IFMT) !== constants.S_IFREG) throw refuse(path, 'is no regular file');
    if ((mode & OTHERS) !== 0) throw refuse(path, `others may read or write it; chmod 600 ${path}`);
    if (uid !== 0 && uid !== process.geteuid?.())
      throw refuse(path, `belongs to uid ${uid}; give it to the user that reports`);
    if (size > MOST_BYTES) throw refuse(path, `is larger than ${MOST_BYTES} bytes; it holds the password alone`);
    const buffer = Buffer.alloc(MOST_BYTES);
    const password = buffer.toString('utf8', 0, readSync(descriptor, buffer)).split(/\r?\n/, 1)[0] ?? '';
    if (password === '') throw refuse(path, 'its first line is empty; it holds the password');
    return password;
  } finally {
    closeSync(descriptor);
  }
}

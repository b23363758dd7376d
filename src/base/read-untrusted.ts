import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { codeOf } from './error-code';
import { UserError } from './user-error';

export class UnreadError extends UserError {
  readonly isAbsent: boolean;

  constructor(
    path: string,
    readonly detail: string,
  ) {
    super(`${path}: ${detail}`);
    this.isAbsent = detail === 'ENOENT' || detail === 'ENOTDIR';
  }
}

/**
 * Reads a file that somebody else may have made: the last step of the path may not be a link, a FIFO or device does not
 * block, a larger file is refused, not cut, and a file whose owner is not `believed` (null: any owner) is not read.
 * Throws UnreadError.
 */
export function readUntrusted(path: string, maxBytes: number, believed: ReadonlySet<number> | null = null): Buffer {
  const fail = (detail: string): never => {
    throw new UnreadError(path, detail);
  };
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    return fail(codeOf(error) || String(error));
  }
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) fail('not a regular file');
    if (believed?.has(status.uid) === false) fail(`owned by uid ${status.uid}`);
    const bytes = readAtMost(descriptor, maxBytes + 1);
    if (bytes.length > maxBytes) fail(`more than ${maxBytes} bytes`);
    return bytes;
  } catch (error) {
    if (error instanceof UnreadError) throw error;
    return fail(codeOf(error) || String(error));
  } finally {
    closeSync(descriptor);
  }
}

/** As `readUntrusted`, but as UTF-8, in which invalid bytes become U+FFFD; null: it can't be read. */
export function textOfUntrusted(
  path: string,
  maxBytes: number,
  believed: ReadonlySet<number> | null = null,
): string | null {
  try {
    return readUntrusted(path, maxBytes, believed).toString('utf8');
  } catch {
    return null;
  }
}

/** Reads to the end of the file or to the limit: stat's size may have changed since, or be meaningless (/proc). */
function readAtMost(descriptor: number, limit: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(limit - total, 65_536));
    const length = readSync(descriptor, chunk, 0, chunk.length, null);
    if (length === 0) break;
    chunks.push(chunk.subarray(0, length));
    total += length;
  }
  return Buffer.concat(chunks, total);
}

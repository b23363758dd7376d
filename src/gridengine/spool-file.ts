import { closeSync, constants, fstatSync, openSync, readSync } from 'node:fs';
import { join } from 'node:path';

import { failure, success, type Result } from './result';

/** Why a spool file was not believed. */
export interface SpoolFileProblem {
  readonly reason: 'absent' | 'link' | 'not-regular' | 'untrusted-owner' | 'too-large' | 'denied' | 'failed';
  readonly path: string;
  readonly detail: string;
}

export interface SpoolFileContent {
  readonly bytes: Buffer;
  /** The bytes as UTF-8; foreign bytes become U+FFFD. */
  readonly text: string;
  readonly uid: number;
  readonly modifiedMs: number;
}

export interface SpoolFileRules {
  readonly maxBytes: number;
  /**
   * Owners that are believed (root and the admin user for `config`, `environment`, `usage`, `pid`); null: any owner.
   */
  readonly trustedUids: ReadonlySet<number> | null;
}

/**
 * Reads one file of a spool directory without trusting it: no link is followed at the last step, a FIFO or device does
 * not block, a file that is larger than `maxBytes` is refused rather than cut, and one of another owner is not read at
 * all.
 *
 * `trace`, `error` and `exit_status` belong to the job's owner: read them with `trustedUids: null` and believe nothing
 * in them.
 */
export function readSpoolFile(
  directory: string,
  name: string,
  rules: SpoolFileRules,
): Result<SpoolFileContent, SpoolFileProblem> {
  const path = join(directory, name);
  const problem = (reason: SpoolFileProblem['reason'], detail: string): Result<never, SpoolFileProblem> =>
    failure({ reason, path, detail });
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name)) {
    return problem('failed', 'not the name of a file in a directory');
  }
  let descriptor: number;
  try {
    descriptor = openSync(path, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK | constants.O_NOCTTY);
  } catch (error) {
    return problem(openReason(errorCode(error)), errorCode(error));
  }
  try {
    const status = fstatSync(descriptor);
    if (!status.isFile()) return problem('not-regular', 'not a regular file');
    if (rules.trustedUids !== null && !rules.trustedUids.has(status.uid)) {
      return problem('untrusted-owner', `owned by uid ${status.uid}`);
    }
    const bytes = readAtMost(descriptor, rules.maxBytes + 1);
    if (bytes.length > rules.maxBytes) return problem('too-large', `more than ${rules.maxBytes} bytes`);
    return success({ bytes, text: bytes.toString('utf8'), uid: status.uid, modifiedMs: status.mtimeMs });
  } catch (error) {
    return problem('failed', errorCode(error));
  } finally {
    closeSync(descriptor);
  }
}

/** Reads to the end of the file or to the limit: the size that stat gives may have changed since. */
function readAtMost(descriptor: number, limit: number): Buffer {
  const chunks: Buffer[] = [];
  let total = 0;
  while (total < limit) {
    const chunk = Buffer.allocUnsafe(Math.min(limit - total, 65_536));
    const length = readSync(descriptor, chunk, 0, chunk.length, total);
    if (length === 0) break;
    chunks.push(chunk.subarray(0, length));
    total += length;
  }
  return Buffer.concat(chunks, total);
}

function openReason(code: string): SpoolFileProblem['reason'] {
  switch (code) {
    case 'ENOENT':
    case 'ENOTDIR':
      return 'absent';
    case 'ELOOP':
      return 'link';
    case 'EACCES':
    case 'EPERM':
      return 'denied';
    case 'ENXIO':
      return 'not-regular';
    default:
      return 'failed';
  }
}

function errorCode(error: unknown): string {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : String(error);
}

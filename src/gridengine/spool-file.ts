import { join } from 'node:path';
import { readUntrusted, UnreadError, type ReadRules, type UnreadReason } from '../base/read-untrusted';
import { failure, success, type Result } from '../base/result';

/** Why a spool file was not believed. */
export interface SpoolFileProblem {
  readonly reason: UnreadReason;
  readonly path: string;
  readonly detail: string;
}

interface SpoolFileContent {
  readonly bytes: Buffer;
  /** The bytes as UTF-8; foreign bytes become U+FFFD. */
  readonly text: string;
  readonly uid: number;
  readonly modifiedMs: number;
}

/**
 * Reads one file of a spool directory without trusting it (readUntrusted). `rules.trustedUids`: root and the admin user
 * for `config`, `environment`, `usage`, `pid`. `trace`, `error` and `exit_status` belong to the job's owner: read them
 * with null and believe nothing in them.
 */
export function readSpoolFile(
  directory: string,
  name: string,
  rules: ReadRules,
): Result<SpoolFileContent, SpoolFileProblem> {
  const path = join(directory, name);
  if (name === '' || name === '.' || name === '..' || /[/\0]/.test(name))
    return failure({ reason: 'failed', path, detail: 'not the name of a file in a directory' });
  try {
    const content = readUntrusted(path, rules);
    return success({ ...content, text: content.bytes.toString('utf8') });
  } catch (error) {
    if (!(error instanceof UnreadError)) throw error;
    return failure({ reason: error.reason, path, detail: error.detail });
  }
}

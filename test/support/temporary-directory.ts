import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/**
 * A new directory that is removed when the process ends: after all that its tests started. It is for its owner alone
 * unless a mode is given.
 */
export function temporaryDirectory(mode = 0o700): string {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-test-'));
  made.push(directory);
  chmodSync(directory, mode);
  return directory;
}

/** Removes them now. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0))
    try {
      // What a test started may still be closing its files.
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      process.stderr.write(`${directory} stays: ${String(error)}\n`);
    }
}

process.on('exit', removeTemporaryDirectories);

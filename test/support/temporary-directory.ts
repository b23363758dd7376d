import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

/**
 * A new directory, which only its owner can use unless a mode is given. It is removed when this process ends, after
 * everything that the tests started.
 */
export function temporaryDirectory(mode = 0o700): string {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-test-'));
  made.push(directory);
  chmodSync(directory, mode);
  return directory;
}

/** Removes all of these directories now. */
export function removeTemporaryDirectories(): void {
  for (const directory of made.splice(0))
    try {
      // A process that a test started may still be closing its files.
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      process.stderr.write(`${directory} stays: ${String(error)}\n`);
    }
}

process.on('exit', removeTemporaryDirectories);

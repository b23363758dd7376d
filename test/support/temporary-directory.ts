import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

const made: string[] = [];

process.on('exit', () => {
  for (const directory of made)
    try {
      // What a test started may still be closing its files.
      rmSync(directory, { recursive: true, force: true, maxRetries: 5 });
    } catch (error) {
      process.stderr.write(`${directory} stays: ${String(error)}\n`);
    }
});

/** A new directory that is removed when the process ends: after all that its tests started. */
export function temporaryDirectory(): string {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-test-'));
  made.push(directory);
  return directory;
}

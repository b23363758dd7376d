import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** A directory of the test's own, gone after it. */
export function temporaryDirectory(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-sampler-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return directory;
}

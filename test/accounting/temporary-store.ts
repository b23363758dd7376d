import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { TestContext } from 'node:test';

/** The path of a store in a directory of its own, gone after the test. */
export function temporaryStore(t: TestContext): string {
  const directory = mkdtempSync(join(tmpdir(), 'qmemacct-accounting-'));
  t.after(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, 'accounting.db');
}

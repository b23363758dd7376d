import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

/**
 * Compares text with `test/report/golden/NAME.txt`; with UPDATE_GOLDEN=1 in the environment writes that file instead
 * (look at the difference before you keep it).
 */
export function assertGolden(name: string, lines: readonly string[]): void {
  const path = join(packageRoot(), 'test', 'report', 'golden', `${name}.txt`);
  const text = lines.map((line) => `${line}\n`).join('');
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, 'utf8'));
}

import assert from 'node:assert/strict';
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { packageRoot } from '../../src/base/package-root';

const pathOf = (name: string): string => join(packageRoot(), 'test', 'report', 'golden', `${name}.txt`);

/** Fills in the manual's screens from golden files: `<!-- screen: live 1-9 -->` stands before each. */
export function withScreens(manual: string): string {
  return manual.replaceAll(
    /(<!-- screen: (\S+) (\d+)-(\d+) -->\n\n)(?: {4}.*\n|\n(?= {4}))*/g,
    (_all, marker: string, name: string, first: string, last: string) => {
      const lines = readFileSync(pathOf(name), 'utf8')
        .split('\n')
        .slice(Number(first) - 1, Number(last));
      return `${marker}${lines.map((line) => (line === '' ? '\n' : `    ${line}\n`)).join('')}`;
    },
  );
}

/**
 * Compares text with `test/report/golden/NAME.txt`; with UPDATE_GOLDEN=1 in the environment writes that file instead
 * (look at the difference before you keep it).
 */
export function assertGolden(name: string, lines: readonly string[]): void {
  const path = pathOf(name);
  const text = lines.map((line) => `${line}\n`).join('');
  if (process.env.UPDATE_GOLDEN === '1') {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, text);
  }
  assert.equal(text, readFileSync(path, 'utf8'));
}

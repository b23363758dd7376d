import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-directory';

/** A directory of units, and what systemctl was called with since this was last asked. */
export function fakeSystemd(t: TestContext): { readonly units: string; readonly said: () => readonly string[] } {
  const directory = temporaryDirectory();
  const log = join(directory, 'log');
  const [commands, units] = ['bin', 'units'].map((name) => join(directory, name)) as [string, string];
  for (const path of [commands, units]) mkdirSync(path);
  writeFileSync(join(commands, 'systemctl'), `#!/bin/sh\necho "$*" >> '${log}'\n`, { mode: 0o755 });
  const before = process.env.PATH;
  process.env.PATH = `${commands}:${before}`;
  t.after(() => void (process.env.PATH = before));
  return {
    units,
    said: () => {
      if (!existsSync(log)) return [];
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      rmSync(log);
      return lines;
    },
  };
}

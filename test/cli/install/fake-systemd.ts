import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { TestContext } from 'node:test';
import { temporaryDirectory } from '../../support/temporary-directory';

interface FakeSystemd {
  /** A directory of units. */
  readonly units: string;
  /** The calls of systemctl since `calls` was last read. */
  readonly calls: () => readonly string[];
  /** From now on no unit is active. */
  readonly stop: () => void;
}

/** Puts a systemctl into PATH, until the test ends, that keeps its calls and takes every unit for active. */
export function fakeSystemd(t: TestContext): FakeSystemd {
  const directory = temporaryDirectory();
  const [log, stopped] = [join(directory, 'log'), join(directory, 'stopped')];
  const [commands, units] = ['bin', 'units'].map((name) => join(directory, name)) as [string, string];
  for (const path of [commands, units]) mkdirSync(path);
  writeFileSync(
    join(commands, 'systemctl'),
    `#!/bin/sh
[ "$1" != is-active ] || { [ ! -e '${stopped}' ]; exit; }
echo "$*" >> '${log}'
`,
    { mode: 0o755 },
  );
  const before = process.env.PATH;
  process.env.PATH = `${commands}:${before}`;
  t.after(() => void (process.env.PATH = before));
  return {
    units,
    stop: () => writeFileSync(stopped, ''),
    calls: () => {
      if (!existsSync(log)) return [];
      const lines = readFileSync(log, 'utf8').trim().split('\n');
      rmSync(log);
      return lines;
    },
  };
}

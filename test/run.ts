import { spawnSync } from 'node:child_process';
import { readdirSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Runs groups of tests with Node's own runner: `node dist/test/run.js unit load cluster vm`.
 * All but the unit tests take the machine for themselves and run one after the other.
 */
const GROUPS: Readonly<Record<string, { readonly concurrency: number; readonly belongs: (path: string) => boolean }>> =
  {
    unit: { concurrency: 3, belongs: (path) => !/\/(load|cluster|vm|bench)\//.test(path) },
    load: { concurrency: 1, belongs: (path) => path.includes('/load/') },
    cluster: { concurrency: 1, belongs: (path) => path.includes('/cluster/') },
    vm: { concurrency: 1, belongs: (path) => path.includes('/vm/') },
  };

function testFiles(): readonly string[] {
  return readdirSync(__dirname, { recursive: true, encoding: 'utf8' })
    .filter((name) => name.endsWith('.test.js'))
    .map((name) => join(__dirname, name))
    .sort();
}

let failed = false;
for (const name of process.argv.slice(2)) {
  const group = GROUPS[name];
  if (group === undefined) throw new Error(`unknown group of tests "${name}": ${Object.keys(GROUPS).join(', ')}`);
  const files = testFiles().filter((path) => group.belongs(path.slice(__dirname.length)));
  const options = ['--test', '--test-reporter=spec', `--test-concurrency=${group.concurrency}`];
  process.stdout.write(`\n${name} tests: ${files.length} files\n`);
  const { status } = spawnSync(process.execPath, [...options, ...files], { stdio: 'inherit' });
  failed ||= status !== 0;
}
process.exit(failed ? 1 : 0);

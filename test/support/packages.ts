import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../../src/base/package-root';
import { productionDependencies } from '../../src/cli/install/dependencies';
import { temporaryDirectory } from './temporary-directory';

/** Helpers that make packages of the program as it is built in this checkout. */

/** Standard output of a command. Fails if its exit status is not 0. */
export function runTool(command: string, ...words: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    encoding: 'utf8',
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LC_ALL: 'C', SOURCE_DATE_EPOCH: '1700000000' },
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(status, 0, `${command} ${words.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

/** The programs that this machine lacks, as a message; null: none. */
export function missingTools(...tools: readonly string[]): string | null {
  const missing = tools.filter((tool) => spawnSync('/bin/sh', ['-c', `command -v ${tool}`]).status !== 0);
  return missing.length === 0 ? null : `not found: ${missing.join(', ')}`;
}

/** Why no packages can be made here; null: they can. */
export const packagesObstacle = (): string | null =>
  missingTools('dpkg-deb', 'dpkg-shlibdeps', 'rpmbuild', 'npm', 'objdump', 'ldd');

/** A directory with the program as it is built here and its native parts, but not those for musl, which lack libraries. */
export function builtProgram(): string {
  const root = packageRoot();
  const built = join(temporaryDirectory(), 'built');
  const packages = productionDependencies(root).map((path) => relative(root, path));
  const isPrebuilt = (path: string): boolean => path.includes('@koromix');
  const own = [
    'package.json',
    'package-lock.json',
    'tsconfig.json',
    'LICENSE',
    'README.md',
    'src',
    'docs/examples',
    'dist/src',
    'hooks',
    'sql',
  ];
  for (const file of [...own, ...packages.filter(isPrebuilt)])
    cpSync(join(root, file), join(built, file), { recursive: true, filter: (path) => !path.includes('musl') });
  for (const path of packages.filter((one) => !isPrebuilt(one))) {
    mkdirSync(dirname(join(built, path)), { recursive: true });
    symlinkSync(realpathSync(join(root, path)), join(built, path));
  }
  return built;
}

/** Makes packages of a directory of builtProgram(); returns their directory. */
export function makePackages(built: string): string {
  const out = join(temporaryDirectory(), 'out');
  runTool('sh', join(packageRoot(), '.ci', 'package.sh'), built, out);
  return out;
}

/** The path of the file in a directory whose name ends like this. */
export const packageIn = (directory: string, end: string): string =>
  join(directory, readdirSync(directory).find((name) => name.endsWith(end)) ?? assert.fail(`no ${end}`));

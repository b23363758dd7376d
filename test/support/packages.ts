import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, realpathSync, symlinkSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { packageRoot } from '../../src/base/package-root';
import { productionDependencies } from '../../src/cli/install/dependencies';
import { temporaryDirectory } from './temporary-directory';

/** Packages of the program as it is built here. */

/** Standard output of a command that is to succeed. */
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

/** What is not here of programs; null: all is. */
export function missingTools(...tools: readonly string[]): string | null {
  const missing = tools.filter((tool) => spawnSync('/bin/sh', ['-c', `command -v ${tool}`]).status !== 0);
  return missing.length === 0 ? null : `not found: ${missing.join(', ')}`;
}

/** Why no packages can be made here; null: they can. */
export const packagesObstacle = (): string | null =>
  missingTools('dpkg-deb', 'dpkg-shlibdeps', 'rpmbuild', 'npm', 'objdump', 'ldd');

/** The program as it is built here, with the native parts that are there: those for musl would not find their libraries. */
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

/** The directory with the packages of what `builtProgram` made. */
export function makePackages(built: string): string {
  const out = join(temporaryDirectory(), 'out');
  runTool('sh', join(packageRoot(), '.ci', 'package.sh'), built, out);
  return out;
}

/** The one package in a directory whose name ends so. */
export const packageIn = (directory: string, end: string): string =>
  join(directory, readdirSync(directory).find((name) => name.endsWith(end)) ?? assert.fail(`no ${end}`));

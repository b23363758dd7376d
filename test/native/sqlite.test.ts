import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { temporaryDirectory } from '../support/temporary-directory';
import { stubObstacle } from './nvml-stub';

const COMPILED = join('node_modules', 'better-sqlite3', 'build', 'Release', 'better_sqlite3.node');

/** An installation of better-sqlite3 12 and what opens it, without the compiled part. */
function installation(): string {
  const directory = temporaryDirectory();
  const files = ['native/sqlite.js', 'base/user-error.js'].map((name) => join('dist', 'src', name));
  for (const path of [
    ...files,
    ...['better-sqlite3', 'bindings', 'file-uri-to-path'].map((name) => join('node_modules', name)),
  ])
    cpSync(join(packageRoot(), path), join(directory, path), { recursive: true });
  rmSync(join(directory, 'node_modules', 'better-sqlite3', 'build'), { recursive: true });
  mkdirSync(join(directory, COMPILED, '..'), { recursive: true });
  return directory;
}

/** Name and message of the error of a connection made in that installation. */
function errorAt(directory: string): string {
  const script = `try { new (require('./dist/src/native/sqlite.js').SqliteDatabase)(':memory:') }
    catch (error) { process.stdout.write(error.name + ': ' + error.message) }`;
  const { stdout, stderr } = spawnSync(process.execPath, ['-e', script], { cwd: directory, encoding: 'utf8' });
  assert.equal(stderr, '');
  return stdout;
}

const [major = 0, minor = 0] = process.versions.node.split('.').map(Number);
/** better-sqlite3 12 aborts under these. */
const isRefused = major > 24 || (major === 24 && minor >= 19);
const FOR_ANOTHER_NODE =
  /^UnusableSqlite: better-sqlite3 was installed for another Node than this v[\d.]+; run .* \("npm ci"\)$/;

describe('an SQLite that cannot be loaded', () => {
  it('is reported as compiled for another Node', { skip: stubObstacle() ?? false }, () => {
    const directory = installation();
    const source = join(packageRoot(), 'test', 'native', 'other-node.c');
    const options = ['-shared', '-fPIC', '-Wall', '-Wextra', '-Werror'];
    const { status, stderr } = spawnSync(
      process.env.CC || 'gcc',
      [...options, source, '-o', join(directory, COMPILED)],
      {
        encoding: 'utf8',
      },
    );
    assert.equal(status, 0, stderr);
    assert.match(errorAt(directory), FOR_ANOTHER_NODE);
  });

  it('is reported as missing or damaged', () => {
    const directory = installation();
    const missing = /^UnusableSqlite: better-sqlite3's compiled part is missing; install qmemacct again .*$/;
    assert.match(errorAt(directory), isRefused ? FOR_ANOTHER_NODE : missing);
    writeFileSync(join(directory, COMPILED), 'garbage\n'.repeat(100));
    assert.match(
      errorAt(directory),
      isRefused ? FOR_ANOTHER_NODE : /^UnusableSqlite: .*better_sqlite3\.node: .*; install qmemacct again .*$/,
    );
  });
});

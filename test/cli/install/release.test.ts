import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';

/** A package as npm leaves it, whose own scripts and binaries must not be used. */
function plantPackage(root: string, name: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    const path = join(root, 'node_modules', name, file);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
}

/** A file that stands for the compiler's work: who asked for it, and how. */
const BUILDER = `
  const { mkdirSync, writeFileSync } = require('node:fs');
  mkdirSync('build/koffi/here/objects', { recursive: true });
  writeFileSync('build/koffi/here/koffi.node', process.argv.slice(2).join(' '));
  writeFileSync('build/koffi/here/objects/koffi.node', '');
`;

describe('the native parts of a release', () => {
  it('are compiled: what came with the packages is gone, and nothing is fetched', (t) => {
    const root = temporaryDirectory();
    cpSync(join(packageRoot(), '.ci'), join(root, '.ci'), { recursive: true });
    const loads = 'exports.load = () => ({ func: () => () => 1 });';
    plantPackage(root, 'koffi', {
      'package.json': '{"name":"koffi","main":"index.js"}',
      'index.js': loads,
      'cnoke.cjs': BUILDER,
    });
    plantPackage(root, '@koromix/koffi-linux-x64', { 'linux_x64/koffi.node': 'prebuilt' });
    plantPackage(root, 'better-sqlite3', {
      'package.json': '{"name":"better-sqlite3","main":"index.js"}',
      'index.js': 'module.exports = class { close() {} };',
      'build/Release/better_sqlite3.node': 'prebuilt',
    });
    const { status, stderr } = spawnSync('sh', [join(root, '.ci', 'native.sh')], { encoding: 'utf8', cwd: '/' });
    if (/no headers of Node|not found; install it/.test(stderr)) {
      t.skip(stderr.trim());
      return;
    }
    assert.equal(status, 0, stderr);
    const modules = join(root, 'node_modules');
    assert.ok(!existsSync(join(modules, '@koromix')));
    assert.ok(!existsSync(join(modules, 'better-sqlite3/build/Release/better_sqlite3.node')));
    // Without --prebuild, with which it would fetch a binary.
    assert.equal(
      readFileSync(join(modules, 'koffi/build/koffi/here/koffi.node'), 'utf8'),
      '-P . -D src/koffi --release',
    );
    assert.ok(!existsSync(join(modules, 'koffi/build/koffi/here/objects')));
  });
});

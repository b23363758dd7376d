import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';

/** Writes a package as npm installs it. */
function plantPackage(root: string, name: string, files: Readonly<Record<string, string>>): void {
  for (const [file, text] of Object.entries(files)) {
    const path = join(root, 'node_modules', name, file);
    mkdirSync(join(path, '..'), { recursive: true });
    writeFileSync(path, text);
  }
}

/** In place of koffi's build script: writes its own options where the compiled binary would be. */
const BUILDER = `
  const { mkdirSync, writeFileSync } = require('node:fs');
  mkdirSync('build/koffi/here/objects', { recursive: true });
  writeFileSync('build/koffi/here/koffi.node', process.argv.slice(2).join(' '));
  writeFileSync('build/koffi/here/objects/koffi.node', '');
`;

/** A checkout with the scripts of a release and planted packages. */
function plantedCheckout(): string {
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
  return root;
}

/** The errors of native.sh: '' where it succeeded; null where its tools are missing, which skips the test. */
function compile(t: TestContext, root: string, env: NodeJS.ProcessEnv = {}): string | null {
  const script = join(root, '.ci', 'native.sh');
  const { status, stderr } = spawnSync('sh', [script], { encoding: 'utf8', cwd: '/', env: { ...process.env, ...env } });
  if (/no headers of Node|not found; install it/.test(stderr)) {
    t.skip(stderr.trim());
    return null;
  }
  return status === 0 ? '' : stderr;
}

/** The options that koffi's build script was given. */
const koffiOptions = (root: string): string =>
  readFileSync(join(root, 'node_modules/koffi/build/koffi/here/koffi.node'), 'utf8');

function executable(path: string, ...lines: readonly string[]): void {
  mkdirSync(join(path, '..'), { recursive: true });
  writeFileSync(path, ['#!/bin/sh', ...lines, ''].join('\n'), { mode: 0o755 });
}

/** What native.sh looks at in a directory of Node for arm64. */
function otherNode(version: string): string {
  const nodedir = temporaryDirectory();
  executable(join(nodedir, 'bin/node'), `[ "$1" != -p ] || echo '${version} arm64'`);
  mkdirSync(join(nodedir, 'include/node'), { recursive: true });
  writeFileSync(join(nodedir, 'include/node/node_api.h'), '');
  return nodedir;
}

describe('the native parts of a release', () => {
  it('are compiled: binaries that came with the packages are removed, and none is fetched', (t) => {
    const root = plantedCheckout();
    const errors = compile(t, root);
    if (errors === null) return;
    assert.equal(errors, '');
    const modules = join(root, 'node_modules');
    assert.ok(!existsSync(join(modules, '@koromix')));
    assert.ok(!existsSync(join(modules, 'better-sqlite3/build/Release/better_sqlite3.node')));
    // Without --prebuild, with which it would fetch a binary.
    assert.equal(koffiOptions(root), '-P . -D src/koffi --release');
    assert.ok(!existsSync(join(modules, 'koffi/build/koffi/here/objects')));
  });

  it('are compiled for the architecture of the Node that is packed', (t) => {
    const root = plantedCheckout();
    const tools = temporaryDirectory();
    executable(join(tools, 'aarch64-linux-gnu-g++'));
    const env = { NODEDIR: otherNode(process.version), PATH: `${tools}:${process.env.PATH ?? ''}` };
    const errors = compile(t, root, env);
    if (errors === null) return;
    assert.equal(errors, '');
    assert.equal(
      koffiOptions(root),
      '-P . -D src/koffi --release --toolchain linux_arm64 --define CMAKE_SYSTEM_NAME=Linux --define CMAKE_SYSTEM_PROCESSOR=aarch64',
    );
  });

  it('are not compiled for a Node of another version, whose headers and code caches would not fit', (t) => {
    const errors = compile(t, plantedCheckout(), { NODEDIR: otherNode('v1.2.3') });
    if (errors !== null) assert.match(errors, /bin\/node is not the version that runs, v/);
  });
});

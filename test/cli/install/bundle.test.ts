import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { before, describe, it } from 'node:test';
import { samplerFlags } from '../../../src/base/node-flags';
import { packageRoot, packageVersion } from '../../../src/base/package-root';
import { PROGRAMS } from '../../../src/base/programs';
import { programFiles } from '../../../src/cli/install/program-files';
import { temporaryDirectory } from '../../support/temporary-directory';

function node(...words: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', cwd: '/' });
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

function bundled(): string {
  const program = join(temporaryDirectory(), 'program');
  node(join(packageRoot(), '.ci', 'bundle.mjs'), packageRoot(), program);
  return program;
}

/** Whether V8 can use the cache of a program under these options of Node. */
function fits(program: string, options: readonly string[]): boolean {
  const ask = `
    const { readFileSync } = require('node:fs');
    const [source, cachedData] = ['.bundle.js', '.cache'].map((end) => readFileSync(process.argv[1] + end));
    console.log(new (require('node:vm').Script)(source.toString(), { cachedData }).cachedDataRejected);
  `;
  return node(...options, '-e', ask, program).stdout === 'false\n';
}

describe('the bundles of a release', () => {
  let root = '';
  const placeOf = (program: string, of = root): string => join(of, 'dist', 'src', program);

  before(() => {
    root = bundled();
  });

  it('come with code caches that fit the options of Node that each is started with', () => {
    for (const program of PROGRAMS)
      assert.ok(
        fits(placeOf(program), /^sampler|deliverer$/.test(program) ? samplerFlags() : []),
        `the cache of ${program}`,
      );
  });

  it('are the same bytes each time, caches included', () => {
    const again = bundled();
    for (const end of ['.js', '.bundle.js', '.cache'])
      for (const program of PROGRAMS)
        assert.ok(readFileSync(placeOf(program) + end).equals(readFileSync(placeOf(program, again) + end)), program);
  });

  it('start from their caches, and without them where the options are others', () => {
    const main = placeOf('cli/main');
    for (const options of [[], ['--jitless'], ['--max-old-space-size=64']])
      assert.equal(node(...options, `${main}.js`, '--version').stdout, `${packageVersion()}\n`);
    assert.equal(fits(main, ['--jitless']), false);
  });

  it('spare every job the parts of Node that its sampler can do without', () => {
    const text = readFileSync(`${placeOf('sampler/main')}.bundle.js`, 'utf8');
    const loaded = new Set([...text.matchAll(/\brequire\("node:([\w/]+)"\)/g)].map(([, name]) => name));
    assert.ok(loaded.has('fs'));
    for (const name of ['crypto', 'module', 'readline']) assert.ok(!loaded.has(name), name);
  });

  it('are what an installation copies, caches included', () => {
    const files = programFiles(root);
    for (const program of PROGRAMS)
      for (const end of ['.js', '.bundle.js', '.cache'])
        assert.ok(files.includes(`dist/src/${program}${end}`), program);
  });
});

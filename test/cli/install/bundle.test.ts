import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { samplerFlags } from '../../../src/base/node-flags';
import { packageRoot, packageVersion } from '../../../src/base/package-root';
import { PROGRAMS } from '../../../src/base/programs';
import { programFiles } from '../../../src/cli/install/program-files';
import { realisticRecords } from '../../accounting/realistic-record';
import { lineOf } from '../../accounting/run-deliverer';
import { PROGRAM_VARIABLE, release } from '../../support/released';
import { temporaryDirectory } from '../../support/temporary-directory';

interface Watched {
  readonly stdout: string;
  readonly modules: readonly string[];
  readonly files: readonly string[];
}

function node(...words: readonly string[]): { readonly stdout: string; readonly stderr: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, words, { encoding: 'utf8', cwd: '/' });
  assert.equal(status, 0, stderr);
  return { stdout, stderr };
}

function bundled(): string {
  const program = join(temporaryDirectory(), 'program');
  release(program);
  return program;
}

/** Makes Node write down, when it ends, which of its own modules and which files it has loaded. */
const WATCH = `
  process.on('exit', () => {
    const parts = process.moduleLoadList.flatMap((entry) => /^NativeModule (\\w+)$/.exec(entry)?.[1] ?? []);
    const { writeFileSync } = require('node:fs');
    writeFileSync(process.env.SEEN, JSON.stringify({ modules: parts, files: Object.keys(require.cache) }));
  });
`;

/** Runs Node; returns its output and what it has loaded. */
function watched(words: readonly string[], input = ''): Watched {
  const directory = temporaryDirectory();
  const watch = join(directory, 'watch.js');
  const seen = join(directory, 'seen.json');
  writeFileSync(watch, WATCH);
  const env = { ...process.env, SEEN: seen };
  const { status, stdout, stderr } = spawnSync(process.execPath, ['--require', watch, ...words], {
    ...{ encoding: 'utf8', input, env },
  });
  assert.equal(status, 0, stderr);
  return { ...(JSON.parse(readFileSync(seen, 'utf8')) as Omit<Watched, 'stdout'>), stdout };
}

/** Whether V8 accepts the code cache of a program under these options of Node. */
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
    // The suite has made one of the same build.
    root = process.env[PROGRAM_VARIABLE] ?? bundled();
  });

  it('come with code caches that fit the Node options of each program', () => {
    for (const program of PROGRAMS)
      assert.ok(
        fits(placeOf(program), /^sampler|deliverer$/.test(program) ? samplerFlags() : []),
        `the cache of ${program}`,
      );
  });

  it('are the same bytes in every build, caches included', () => {
    const again = bundled();
    for (const end of ['.js', '.bundle.js', '.cache'])
      for (const program of PROGRAMS)
        assert.ok(readFileSync(placeOf(program) + end).equals(readFileSync(placeOf(program, again) + end)), program);
  });

  it('start also under Node options that their caches do not fit', () => {
    const main = placeOf('cli/main');
    for (const options of [[], ['--jitless'], ['--max-old-space-size=64']])
      assert.equal(node(...options, `${main}.js`, '--version').stdout, `${packageVersion()}\n`);
    assert.equal(fits(main, ['--jitless']), false);
  });

  it('are ASCII, of which V8 keeps one byte per character', () => {
    for (const program of PROGRAMS)
      assert.match(readFileSync(`${placeOf(program)}.bundle.js`, 'latin1'), /^[\0-\x7f]*$/, program);
  });

  it('come with caches larger than the text, as all functions need, for what starts with every job', () => {
    for (const program of ['sampler/main', 'accounting/deliverer'])
      assert.ok(statSync(`${placeOf(program)}.cache`).size > statSync(`${placeOf(program)}.bundle.js`).size, program);
  });

  it('load no module of Node into the sampler that it can do without', () => {
    const text = readFileSync(`${placeOf('sampler/main')}.bundle.js`, 'utf8');
    const loaded = new Set([...text.matchAll(/\brequire\("node:([\w/]+)"\)/g)].map(([, name]) => name));
    assert.ok(loaded.has('fs'));
    for (const name of ['module', 'readline']) assert.ok(!loaded.has(name), name);
    // The global loads node:perf_hooks.
    assert.doesNotMatch(text, /\bperformance\./);
  });

  it('load no module of Node for a delivery into SQLite that it can do without', () => {
    const accounting = join(temporaryDirectory(), 'accounting.db');
    const { next } = realisticRecords(1);
    const words = [`${placeOf('accounting/deliverer')}.js`, '--accounting', accounting, '--allow-root'];
    const delivery = watched(words, lineOf(7, next()));
    assert.equal(delivery.stdout, '{"id":7,"ok":true}\n');
    const bare = watched(['-e', '']).modules;
    for (const name of ['child_process', 'crypto', 'net', 'perf_hooks', 'stream', 'tls'])
      assert.ok(bare.includes(name) || !delivery.modules.includes(name), name);
  });

  it('load the binaries of native packages without the JavaScript of the packages', () => {
    const { files } = watched([`${placeOf('cli/doctor/load-natives')}.js`]);
    const natives = files.filter((file) => file.includes('node_modules'));
    assert.equal(natives.length, 2);
    assert.deepEqual(
      natives.filter((file) => !file.endsWith('.node')),
      [],
    );
  });

  it('are what an installation copies, caches included', () => {
    const files = programFiles(root);
    for (const program of PROGRAMS)
      for (const end of ['.js', '.bundle.js', '.cache'])
        assert.ok(files.includes(`dist/src/${program}${end}`), program);
  });
});

it("the files that an installation copies of a checkout write XML, which takes a package's CommonJS half", () => {
  const copy = temporaryDirectory();
  for (const file of programFiles(packageRoot()).filter((name) =>
    /^(?:node_modules|dist\/src\/gridengine)\//.test(name),
  )) {
    mkdirSync(join(copy, dirname(file)), { recursive: true });
    copyFileSync(join(packageRoot(), file), join(copy, file));
  }
  const module = JSON.stringify(join(copy, 'dist/src/gridengine/xml/write-xml.js'));
  const { stdout } = node(
    '-e',
    `Promise.resolve(require(${module}).xmlWriter()).then((w) => console.log(w({ tag: 'a', content: 'b' })))`,
  );
  assert.match(stdout, /<a>b<\/a>/);
});

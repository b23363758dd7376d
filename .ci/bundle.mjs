// node bundle.mjs BUILT PROGRAM [NODE]: writes the program that was built in BUILT to the new directory PROGRAM as hosts get it:
// each file that Node is started with is loader.js, where it lies in a checkout (dist/src/...), with its bundle and V8's
// code cache of that beside it, and the only packages are the native ones with what those need.
// PROGRAM/LICENSE-packages has the licenses of what is inside. Prints the name of every package that is in PROGRAM.
// BUILT/src is bundled, not dist/src: what is not used of a file is left out, which CommonJS hides.
import { execFileSync } from 'node:child_process';
import { copyFileSync, cpSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { argv, execPath, stdout } from 'node:process';
import { build } from 'esbuild';

// h5wasm is WebAssembly in a module of its own.
const NATIVE = ['better-sqlite3', 'better-sqlite3-13', 'koffi', 'h5wasm'];

const [built, program, node = execPath] = argv.slice(2);
const load = createRequire(import.meta.url);
const { PROGRAMS } = load(`${built}/dist/src/base/programs.js`);
const { samplerFlags } = load(`${built}/dist/src/base/node-flags.js`);
const { programFiles } = load(`${built}/dist/src/cli/install/program-files.js`);
const { productionDependencies } = load(`${built}/dist/src/cli/install/dependencies.js`);

/** For browsers: the build has bundled it. */
const PAGE_SCRIPT = 'dist/src/server/web/script.js';

const all = programFiles(built);
mkdirSync(program, { recursive: true });

const { name, version, description, license, type, engines, dependencies, optionalDependencies } = JSON.parse(
  readFileSync(join(built, 'package.json'), 'utf8'),
);
const nativeOf = (packages) =>
  Object.fromEntries(Object.entries(packages ?? {}).filter(([key]) => NATIVE.includes(key)));
const manifest = {
  ...{ name, version, description, license, private: true, type, engines },
  dependencies: nativeOf(dependencies),
  optionalDependencies: nativeOf(optionalDependencies),
};
writeFileSync(join(program, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);

const packageOf = (path) => /^.*node_modules\/(?:@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? null;
const natives = new Set(productionDependencies(built, manifest).map((path) => path.slice(built.length + 1)));
for (const path of all) {
  const inside = packageOf(path);
  const isBundled = path.startsWith('dist/') && path !== PAGE_SCRIPT;
  if (path === 'package.json' || isBundled || (inside !== null && !natives.has(inside))) continue;
  mkdirSync(dirname(join(program, path)), { recursive: true });
  cpSync(join(built, path), join(program, path), { dereference: true });
}

const arch = execFileSync(node, ['-p', 'process.arch'], { encoding: 'utf8' }).trim();

/** Where native packages look for their binaries, at length: what loads them at once and saves every job 14 ms. */
const FINDERS = [
  ['koffi/src/koffi/index.cjs', `koffi[^/]*/linux_${arch}/koffi`, 'module.exports ='],
  ['bindings/bindings.js', 'better-sqlite3/build/Release/better_sqlite3', 'module.exports = () =>'],
  [
    'better-sqlite3-13/lib/binding.js',
    `better-sqlite3-13/(?:build/Release/better_sqlite3|prebuilds/linux-${arch})`,
    'exports.getBinding = () =>',
  ],
];
const atOnce = {
  name: 'binaries at once',
  setup({ onLoad }) {
    for (const [finder, binary, start] of FINDERS) {
      const place = all.find((path) => new RegExp(`/${binary}\\.node$`).test(path));
      const contents = `${start} require(require('./src/base/package-root').packageRoot() + '/${place}');`;
      if (place !== undefined)
        onLoad({ filter: new RegExp(`/node_modules/${finder}$`) }, () => ({ contents, resolveDir: built }));
    }
  },
};

const { metafile } = await build({
  absWorkingDir: built,
  entryPoints: PROGRAMS.map((path) => `src/${path}.ts`),
  outbase: 'src',
  outdir: join(program, 'dist', 'src'),
  outExtension: { '.js': '.bundle.js' },
  banner: { js: '(function (exports, require, module, __filename, __dirname) {' },
  footer: { js: '})' },
  bundle: true,
  platform: 'node',
  target: 'node20',
  format: 'cjs',
  // What is read at each start; an error that nobody caught is shown with its line.
  minifyWhitespace: true,
  legalComments: 'none',
  lineLimit: 120,
  external: ['h5wasm', ...NATIVE.filter((name) => !natives.has(`node_modules/${name}`))],
  plugins: [atOnce],
  metafile: true,
  preserveSymlinks: true,
  logLevel: 'warning',
});

// A cache is of use to those options of Node only that it was made with. The seed, which may differ, makes its bytes the
// same each time. Of what starts with every job it has all functions: to compile those that a job needs takes 17 ms, the
// others' 1.5 MiB of memory are less than a longer-lived process can do without.
const MAKE_CACHE = `
  const { readFileSync, writeFileSync } = require('node:fs');
  const { setFlagsFromString } = require('node:v8');
  const [path, functions] = process.argv.slice(1);
  if (functions === 'all') setFlagsFromString('--no-lazy');
  const script = new (require('node:vm').Script)(readFileSync(0, 'latin1'), { filename: 'bundle.js' });
  setFlagsFromString('--lazy');
  writeFileSync(path, script.createCachedData());
`;
/** What starts with every job. */
const PER_JOB = new Set(['sampler/main', 'accounting/deliverer']);
/** Templates keep characters for which V8 would take two bytes for each one of the file. */
const inAscii = (text) =>
  text.replace(/[^\0-\x7f]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`);
for (const path of PROGRAMS) {
  const place = join(program, 'dist', 'src', path);
  writeFileSync(`${place}.bundle.js`, inAscii(readFileSync(`${place}.bundle.js`, 'utf8')));
  const isSampler = path.startsWith('sampler/') || path === 'accounting/deliverer';
  const options = ['--random-seed=1', ...(isSampler ? samplerFlags() : [])];
  execFileSync(node, [...options, '-e', MAKE_CACHE, `${place}.cache`, PER_JOB.has(path) ? 'all' : 'used'], {
    input: readFileSync(`${place}.bundle.js`),
  });
  copyFileSync(join(import.meta.dirname, 'loader.js'), `${place}.js`);
}

const bundled = [...new Set(Object.keys(metafile.inputs).map(packageOf))].filter((path) => path !== null).sort();
const licenses = bundled.map((path) => {
  const { name, version, license } = JSON.parse(readFileSync(join(built, path, 'package.json'), 'utf8'));
  const texts = all.filter((file) => dirname(file) === path && /\/(?:LICEN[CS]E|COPYING)[^/]*$/i.test(file));
  return `${[`${name} ${version}: ${license}`, ...texts.map((file) => readFileSync(join(built, file), 'utf8').trim())].join('\n\n')}\n`;
});
writeFileSync(join(program, 'LICENSE-packages'), licenses.join(`\n${'-'.repeat(80)}\n\n`));

for (const path of [...natives, ...bundled]) stdout.write(`${path.slice('node_modules/'.length)}\n`);

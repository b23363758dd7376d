import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, realpathSync, symlinkSync, writeFileSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { before, describe, it } from 'node:test';
import { packageRoot } from '../../../src/base/package-root';
import { PROGRAMS } from '../../../src/base/programs';
import { productionDependencies } from '../../../src/cli/install/dependencies';
import { sampleLines } from '../../accounting/import/sample-lines';
import { temporaryDirectory } from '../../support/temporary-directory';

function run(command: string, ...words: readonly string[]): string {
  const { status, stdout, stderr, error } = spawnSync(command, words, {
    encoding: 'utf8',
    cwd: '/',
    env: { PATH: process.env.PATH, HOME: process.env.HOME, LC_ALL: 'C', SOURCE_DATE_EPOCH: '1700000000' },
    maxBuffer: 64 * 1024 * 1024,
  });
  assert.equal(status, 0, `${command} ${words.join(' ')}: ${error?.message ?? stderr}`);
  return stdout;
}

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** What is not here to make packages with; null: all is. */
function obstacle(): string | null {
  if (process.getuid?.() !== 0) return 'chroot and mknod are for root';
  const missing = ['dpkg-deb', 'dpkg-shlibdeps', 'rpmbuild', 'npm', 'objdump', 'ldd'].filter(
    (tool) => spawnSync('/bin/sh', ['-c', `command -v ${tool}`]).status !== 0,
  );
  return missing.length === 0 ? null : `not found: ${missing.join(', ')}`;
}

/** The program as it is built here, with the native parts that are there: those for musl would not find their libraries. */
function builtProgram(): string {
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

function makePackages(built: string): string {
  const out = join(temporaryDirectory(), 'out');
  run('sh', join(packageRoot(), '.ci', 'package.sh'), built, out);
  return out;
}

/** Copies programs into a root that has nothing else, with the libraries that they and `libraries` are linked with. */
function furnish(root: string, programs: readonly string[], libraries: readonly string[]): void {
  const linked = lines(run('ldd', ...programs, ...libraries)).map((line) => /(?:=> |^\s+)(\/\S+) \(/.exec(line)?.[1]);
  for (const path of new Set([...programs, ...linked])) {
    if (path === undefined || path.startsWith(root)) continue;
    mkdirSync(join(root, dirname(path)), { recursive: true });
    cpSync(realpathSync(path), join(root, path));
  }
}

const unableTo = obstacle();

describe('packages', { skip: unableTo ?? false, timeout: 600_000 }, () => {
  let built = '';
  let out = '';
  let root = '';
  const fileOf = (end: string): string =>
    join(out, readdirSync(out).find((name) => name.endsWith(end)) ?? assert.fail(`no ${end}`));

  before(() => {
    built = builtProgram();
    out = makePackages(built);
    root = join(temporaryDirectory(), 'root');
    run('dpkg', '-x', fileOf('.deb'), root);
  });

  it('are the same bytes each time', () => {
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
    assert.equal(lines(sums).length, 4);
    assert.equal(readFileSync(join(makePackages(built), 'SHA256SUMS'), 'utf8'), sums);
  });

  it('bring files of root, and nothing that runs when they are installed', () => {
    assert.deepEqual(lines(run('sh', '-c', `dpkg-deb --ctrl-tarfile '${fileOf('.deb')}' | tar -t`)), [
      './',
      './control',
    ]);
    assert.equal(run('rpm', '-qp', '--scripts', '--triggers', fileOf('.rpm')), '');
    const inDeb = lines(run('dpkg-deb', '--contents', fileOf('.deb'))).map((line) => line.split(/\s+/));
    const modes = new Set(inDeb.map(([mode, owner]) => `${mode} ${owner}`));
    assert.deepEqual(
      [...modes].sort(),
      ['-rw-r--r--', '-rwxr-xr-x', 'drwxr-xr-x', 'lrwxrwxrwx'].map((mode) => `${mode} root/root`),
    );
    const inRpm = lines(
      run('rpm', '-qp', '--qf', '[%{FILEMODES:perms} %{FILEUSERNAME}/%{FILEGROUPNAME} %{FILENAMES}\n]', fileOf('.rpm')),
    );
    // An RPM does not own the directories that it shares with others.
    const filesOnly = (all: readonly string[]): string[] => all.filter((line) => !line.startsWith('d')).sort();
    assert.deepEqual(
      filesOnly(inRpm),
      filesOnly(inDeb.map(([mode, owner, , , , path]) => `${mode} ${owner} ${path?.slice(1)}`)),
    );
    const places = new Set(inRpm.map((line) => line.split(' ')[2]?.split('/').slice(0, 4).join('/')));
    assert.deepEqual([...places].sort(), [
      '/usr/bin/qmemacct',
      '/usr/lib/qmemacct',
      ...['bash-completion', 'doc', 'fish', 'man', 'zsh'].map((name) => `/usr/share/${name}`),
    ]);
  });

  it('name what they hold, Node included', () => {
    const { components } = JSON.parse(readFileSync(fileOf('.cdx.json'), 'utf8')) as {
      components: { name: string; version: string }[];
    };
    const versions = new Map(components.map(({ name, version }) => [name, version]));
    assert.equal(versions.get('node'), process.versions.node);
    assert.ok(versions.has('better-sqlite3') && versions.has('koffi'));
    assert.ok(!versions.has('prebuild-install'), 'is needed to install only');
  });

  it('hold each program as one bundle with its code cache, and only native packages beside them', () => {
    const program = join(root, 'usr/lib/qmemacct');
    const scripts = lines(run('find', join(program, 'dist'), '-type', 'f', '-printf', '%P\\n'));
    const expected = PROGRAMS.flatMap((path) => ['.js', '.bundle.js', '.cache'].map((end) => `src/${path}${end}`));
    assert.deepEqual(scripts.sort(), [...expected, 'src/server/web/script.js'].sort());
    const packages = readdirSync(join(program, 'node_modules'));
    assert.ok(packages.includes('koffi') && packages.includes('better-sqlite3') && !packages.includes('commander'));
    assert.match(readFileSync(join(program, 'LICENSE-packages'), 'utf8'), /^commander [\d.]+: MIT$/m);
  });

  it('measure a command: the sampler, its listener and the deliverer are found and work', () => {
    const state = temporaryDirectory();
    const command = [join(root, 'usr/bin/qmemacct'), 'run', '--json', '--', 'sh', '-c', 'exit 3'];
    const { status, stderr } = spawnSync(command[0] ?? '', command.slice(1), {
      encoding: 'utf8',
      cwd: '/',
      env: { PATH: process.env.PATH, HOME: state, XDG_STATE_HOME: state, TMPDIR: state },
    });
    assert.equal(status, 3, stderr);
    assert.match(stderr, /"exit_status": ?3/);
  });

  it('work where nothing else is: no Node, and no program but the shell', () => {
    const modules = join(root, 'usr/lib/qmemacct/node_modules');
    const native = lines(run('find', modules, '-name', '*.node'));
    furnish(
      root,
      ['/bin/sh', '/usr/bin/readlink', '/usr/bin/dirname'],
      [join(root, 'usr/lib/qmemacct/bin/node'), ...native],
    );
    for (const directory of ['dev', 'tmp']) mkdirSync(join(root, directory));
    run('mknod', '-m', '666', join(root, 'dev/null'), 'c', '1', '3');
    const qmemacct = (...words: readonly string[]): string => run('chroot', root, '/usr/bin/qmemacct', ...words);
    const manifest = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
    assert.equal(qmemacct('--version'), `${manifest.version}\n`);
    writeFileSync(join(root, 'accounting'), sampleLines(1, 60));
    writeFileSync(join(root, 'qmemacct.toml'), 'accounting = "/tmp/a.db"\ncluster = "cell"\ndeliver_as = "root"\n');
    assert.match(qmemacct('import', '/accounting', '--config', '/qmemacct.toml'), /^60 lines, 60 records added/);
    assert.match(
      qmemacct('owner', 'alice', '--since', '2000-01-01', '--config', '/qmemacct.toml'),
      /Jobs of alice +60 jobs/,
    );
  });
});

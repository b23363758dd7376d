import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { cpSync, mkdirSync, readFileSync, readdirSync, realpathSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { before, describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { PROGRAMS } from '../../src/base/programs';
import { sampleLines } from '../accounting/import/sample-lines';
import { builtProgram, makePackages, packageIn, packagesObstacle, runTool as run } from '../support/packages';
import { temporaryDirectory } from '../support/temporary-directory';

const lines = (text: string): string[] => text.split('\n').filter((line) => line !== '');

/** Copies programs into an empty root, with the shared libraries that they and `libraries` need. */
function copyWithLibraries(root: string, programs: readonly string[], libraries: readonly string[]): void {
  const linked = lines(run('ldd', ...programs, ...libraries)).map((line) => /(?:=> |^\s+)(\/\S+) \(/.exec(line)?.[1]);
  for (const path of new Set([...programs, ...linked])) {
    if (path === undefined || path.startsWith(root)) continue;
    mkdirSync(join(root, dirname(path)), { recursive: true });
    cpSync(realpathSync(path), join(root, path));
  }
}

const obstacle = process.getuid?.() === 0 ? packagesObstacle() : 'chroot and mknod are for root';

describe('the Debian and RPM packages', { skip: obstacle ?? false, timeout: 2_000_000 }, () => {
  let built = '';
  let out = '';
  let root = '';
  const fileOf = (end: string): string => packageIn(out, end);

  before(() => {
    built = builtProgram();
    out = makePackages(built);
    root = join(temporaryDirectory(), 'root');
    run('dpkg', '-x', fileOf('.deb'), root);
  });

  it('have the same bytes each time they are made', () => {
    const sums = readFileSync(join(out, 'SHA256SUMS'), 'utf8');
    assert.equal(lines(sums).length, 4);
    assert.equal(readFileSync(join(makePackages(built), 'SHA256SUMS'), 'utf8'), sums);
  });

  it('hold files of root, and no script that runs at installation', () => {
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
    // An RPM does not own directories that it shares with other packages.
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

  it('list their components in the SBOM, Node included', () => {
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

  it('are installed, verified and removed by rpm, with the same files as by dpkg', () => {
    const system = join(temporaryDirectory(), 'system');
    mkdirSync(system);
    const rpm = (...words: readonly string[]): string => run('rpm', '--root', system, ...words);
    rpm('--nodeps', '-i', fileOf('.rpm'));
    assert.equal(rpm('--nodeps', '-V', 'qmemacct'), '');
    assert.equal(run('diff', '-r', '--no-dereference', join(system, 'usr'), join(root, 'usr')), '');
    rpm('-e', 'qmemacct');
    assert.deepEqual(lines(run('find', join(system, 'usr'), '-name', '*qmemacct*')), []);
  });

  it('can measure a command', () => {
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

  it('work in a root without Node and other programs than the shell, readlink and dirname', () => {
    const modules = join(root, 'usr/lib/qmemacct/node_modules');
    const native = lines(run('find', modules, '-name', '*.node'));
    copyWithLibraries(
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
      /Jobs of alice +60 jobs and array tasks/,
    );
  });
});

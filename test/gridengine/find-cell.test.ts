import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, chownSync, copyFileSync, existsSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { adminUserIn, findCell } from '../../src/gridengine/find-cell';
import { findClient } from '../../src/gridengine/find-client';
import { apart, apartOrNot } from '../base/apart';
import { COMMAND } from '../support/qmemacct';
import { temporaryDirectory } from '../support/temporary-directory';

const asRoot = { skip: process.getuid?.() === 0 ? false : 'needs root: it makes files of other users' };
const USER = 65_534;

interface FakeRoot {
  readonly root: string;
  readonly qconf: string;
  /** The file that the fake qconf writes when it is run. */
  readonly mark: string;
}

function newRoot(adminUser: string): FakeRoot {
  const root = temporaryDirectory(0o755);
  mkdirSync(join(root, 'default/common'), { recursive: true });
  mkdirSync(join(root, 'bin/lx-amd64'), { recursive: true });
  writeFileSync(join(root, 'default/common/bootstrap'), `admin_user ${adminUser}\n`);
  const [qconf, mark] = [join(root, 'bin/lx-amd64/qconf'), join(root, 'mark')];
  writeFileSync(qconf, `#!/bin/sh\nid -u >>'${mark}'\necho 8.1.9\n`, { mode: 0o755 });
  chmodSync(qconf, 0o755);
  return { root, qconf, mark };
}

/** Gives the whole tree to a user, as if the user had made it. */
function giveTo(uid: number, { root }: FakeRoot): void {
  const { status } = spawnSync('chown', ['-R', `${uid}:${uid}`, root]);
  assert.equal(status, 0);
}

const find = (root: string, adminUser = '', procRoot = '/nowhere'): ReturnType<typeof findCell> =>
  findCell({ SGE_ROOT: root }, { admin_user: adminUser, cell: '' }, procRoot);

/** A directory like /proc with one process, which looks like a daemon of Grid Engine. */
function daemon(uids: string, cwd: string, program = '/usr/lib/gridengine/sge_execd', name = 'sge_execd'): string {
  const proc = temporaryDirectory();
  mkdirSync(join(proc, '42'));
  writeFileSync(join(proc, '42/comm'), `${name}\n`);
  writeFileSync(join(proc, '42/status'), `Name:\t${name}\nUid:\t${uids}\n`);
  symlinkSync(cwd, join(proc, '42/cwd'));
  symlinkSync(program, join(proc, '42/exe'));
  return proc;
}

describe('the cell', () => {
  it('is the one in the settings where the environment names none', () => {
    const { root } = newRoot('none');
    const settings = { admin_user: '', cell: join(root, 'default') };
    assert.equal(findCell({}, settings, '/nowhere')?.root, root);
    const other = newRoot('none').root;
    assert.equal(findCell({ SGE_ROOT: other }, settings, '/nowhere')?.root, other);
  });
});

describe('the cell that root believes', asRoot, () => {
  it('is the one that SGE_CELL names beside the cell of the settings, as for Grid Engine itself', () => {
    const { root } = newRoot('none');
    mkdirSync(join(root, 'second/common'), { recursive: true });
    writeFileSync(join(root, 'second/common/bootstrap'), 'admin_user none\n');
    const settings = { admin_user: '', cell: join(root, 'default') };
    assert.equal(findCell({ SGE_CELL: 'second' }, settings, '/nowhere')?.cell, 'second');
    assert.equal(findCell({ SGE_CELL: 'second/' }, settings, '/nowhere')?.cell, 'second');
  });

  it('may be one whose files belong to root', () => {
    const fake = newRoot('none');
    const cell = find(fake.root);
    assert.deepEqual([cell?.root, cell?.cell], [fake.root, 'default']);
    assert.equal(findClient('qconf', {}, cell), fake.qconf);
  });

  it("is never a user's, whoever its bootstrap file names as admin user", () => {
    for (const admin of ['none', 'nobody', 'root']) {
      const fake = newRoot(admin);
      giveTo(USER, fake);
      assert.throws(
        () => find(fake.root),
        new RegExp(`SGE_ROOT ${fake.root}: ${fake.root} belongs to uid ${USER}, and`),
      );
    }
  });

  it('may belong to the admin user whom the settings or a daemon of root name', () => {
    const fake = newRoot('nobody');
    giveTo(USER, fake);
    assert.equal(find(fake.root, 'nobody')?.root, fake.root);
    assert.throws(() => find(fake.root, 'daemon'));
    const spool = join(fake.root, 'spool');
    mkdirSync(spool);
    chownSync(spool, USER, USER);
    assert.equal(find(fake.root, '', daemon('0\t65534\t0\t65534', spool))?.root, fake.root);
    // Started by a user: a setuid program has root's effective uid, and the user's real one.
    assert.throws(() => find(fake.root, '', daemon('65534\t0\t0\t0', spool)));
    // sudo, started through a user's link called sge_execd, while its real uid is root's.
    assert.throws(() => find(fake.root, '', daemon('0\t65534\t0\t65534', spool, '/usr/bin/sudo')));
    const old = daemon('0\t65534\t0\t65534', spool, '/opt/sge/bin/lx-amd64/sge_execd.old (deleted)');
    assert.equal(find(fake.root, '', old)?.root, fake.root);
    // A shepherd before a hook of root's, while a user's FIFO blocks it from opening the job's output (seen on 8.1.9).
    const shepherd = daemon('0\t65534\t103\t65534', spool, '/usr/lib/gridengine/sge_shepherd', 'sge_shepherd');
    assert.throws(() => find(fake.root, '', shepherd));
    // A daemon that works as another user for a moment: its spool directory is not that user's.
    chownSync(spool, 0, 0);
    assert.throws(() => find(fake.root, '', daemon('0\t65534\t0\t65534', spool)));
  });

  it("may belong to a system account only where the directory above is root's", () => {
    const fake = newRoot('daemon');
    giveTo(1, fake);
    // Everyone can write to the directory above.
    assert.throws(() => find(fake.root), /belongs to uid 1/);
    const parent = newRoot('none');
    const inside = join(parent.root, 'sge');
    assert.equal(spawnSync('cp', ['-a', fake.root, inside]).status, 0);
    assert.equal(find(inside)?.root, inside);
    writeFileSync(join(inside, 'default/common/bootstrap'), 'admin_user bin\n');
    assert.throws(() => find(inside), /belongs to uid 1/);
  });

  it('is never one that others can write to, or can replace by a link', () => {
    const fake = newRoot('none');
    const bootstrap = join(fake.root, 'default/common/bootstrap');
    chmodSync(bootstrap, 0o666);
    assert.throws(() => find(fake.root), /everyone can write to .*bootstrap/);
    chmodSync(bootstrap, 0o644);
    const home = temporaryDirectory();
    symlinkSync(fake.root, join(home, 'sge'));
    chownSync(home, USER, USER);
    assert.throws(() => find(join(home, 'sge')), new RegExp(`${home} belongs to uid ${USER}`));
  });

  it('has no client that others can change', () => {
    const fake = newRoot('none');
    const cell = find(fake.root);
    const bin = join(fake.root, 'bin/lx-amd64');
    chownSync(bin, USER, USER);
    assert.throws(
      () => findClient('qconf', {}, cell),
      /^UntrustedError: qconf: .*belongs to uid 65534, and root would/,
    );
    // A sound client later in PATH is taken.
    const good = newRoot('none');
    const env = { PATH: `${bin}:${join(good.root, 'bin/lx-amd64')}` };
    assert.equal(findClient('qconf', env, cell), good.qconf);
    assert.equal(findClient('qhost', env, cell), null);
  });
});

describe('a user', apartOrNot, () => {
  it('cannot make root run a command by a process called sge_execd', () => {
    const fake = newRoot('nobody');
    const execd = join(fake.root, 'sge_execd');
    copyFileSync('/bin/sleep', execd);
    chmodSync(execd, 0o755);
    giveTo(USER, fake);
    const config = join(newRoot('none').root, 'qmemacct.toml');
    writeFileSync(config, '');
    const script = `
      SGE_ROOT=$1 setpriv --reuid ${USER} --regid ${USER} --clear-groups "$1/sge_execd" 600 &
      until grep -qx sge_execd /proc/$!/comm; do :; done
      PATH=/usr/sbin:/usr/sbin # no qconf of this machine's
      "$2" "$3" --config "$4" doctor --json
      "$2" "$3" --config "$4" install --node --dry-run
      "$2" "$3" --config "$4" uninstall --node --dry-run`;
    const said = apart(script, [fake.root, process.execPath, COMMAND, config]);
    assert.ok(!existsSync(fake.mark), `root ran a user's qconf: ${said}`);
    assert.doesNotMatch(said, new RegExp(fake.root));
  });

  it("cannot make root run a command by SGE_ROOT in root's environment, and the output says why", () => {
    const fake = newRoot('nobody');
    giveTo(USER, fake);
    const config = join(newRoot('none').root, 'qmemacct.toml');
    writeFileSync(config, '');
    const words = [process.execPath, COMMAND, config];
    const env = { SGE_ROOT: fake.root };
    const commands = ['doctor', 'install --node --dry-run', 'install --dry-run', 'uninstall --node --dry-run', 'live'];
    for (const command of commands) {
      const said = apart(`PATH=/usr/sbin "$1" "$2" --config "$3" ${command}`, words, env);
      assert.ok(!existsSync(fake.mark), `${command}: root ran a user's qconf: ${said}`);
      assert.doesNotMatch(said, /bug/);
      if (command !== 'uninstall --node --dry-run') assert.match(said, /belongs to uid 65534, and root would believe/);
    }
  });
});

describe('adminUserIn', () => {
  it('reads the file that Debian installs', () => {
    const debian =
      'Version: 6.2\nadmin_user              sgeadmin\ndefault_domain          none\nignore_fqdn             false\n';
    assert.equal(adminUserIn(debian), 'sgeadmin');
  });

  it('returns null for NONE, for a missing name and for a comment', () => {
    assert.equal(adminUserIn('# admin_user x\nadmin_user NONE\n'), null);
    assert.equal(adminUserIn('admin_user\ndefault_domain none\n'), null);
    assert.equal(adminUserIn(''), null);
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import {
  appendFileSync,
  chmodSync,
  cpSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  readlinkSync,
  renameSync,
  rmdirSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { runProgram } from '../../../src/cli/program';
import { fakeTerminal } from '../fake-terminal';
import { applySteps, installOnNode, planNode, type NodeInstallation } from '../../../src/cli/install/install-node';
import { chooseNodeSettings } from '../../../src/cli/install/node-settings';
import { commandPath, type SystemPlaces } from '../../../src/cli/install/places';
import { planNodeRemoval } from '../../../src/cli/install/remove-node';
import { readStamp } from '../../../src/cli/install/stamp';
import { runningVersions, switchCurrent } from '../../../src/cli/install/versions';
import type { PassThroughNeed } from '../../../src/cli/install/pass-through-need';
import { connectListener } from '../../../src/sampler/listener/client';
import { runningListener } from '../../../src/sampler/listener/running';
import { loadSettings, SettingsError } from '../../../src/record/settings';
import { PROGRAM } from '../../support/released';
import { packageRoot } from '../../../src/base/package-root';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

const asRoot = { skip: process.getuid?.() === 0 ? false : 'installs as root' };

interface Host {
  readonly top: string;
  readonly prefix: string;
  readonly state: string;
  readonly settingsPath: string;
  readonly places: SystemPlaces;
}

function newHost(): Host {
  // Open to the deliverer, who is not root.
  const top = temporaryDirectory(0o711);
  const places = { units: null, cron: join(top, 'cron.d'), tmpfiles: null, commands: join(top, 'bin') };
  for (const path of [places.cron, places.commands]) mkdirSync(path);
  return { top, prefix: join(top, 'opt'), state: join(top, 'state'), settingsPath: join(top, 'etc', 'x.toml'), places };
}

function planned(host: Host, source = PROGRAM, execPath = process.execPath): NodeInstallation {
  const given = {
    state_dir: host.state,
    run_dir: join(host.top, 'run'),
    accounting: join(host.top, 'accounting', 'accounting.db'),
  };
  return planNode({
    source,
    prefix: host.prefix,
    settingsPath: host.settingsPath,
    chosen: chooseNodeSettings(host.settingsPath, given, {}),
    places: host.places,
    timer: true,
    nightly: false,
    serve: false,
    execPath,
  });
}

const ignore = (): void => undefined;

async function install(host: Host, source = PROGRAM): Promise<string> {
  const installation = planned(host, source);
  const { test } = await installOnNode(installation, ignore, (warning) => assert.fail(warning));
  assert.deepEqual([test.problems, test.ok], [[], true]);
  return installation.version.name;
}

/** Installs without the self-test: for tests of what comes after an installation. */
async function installUntested(host: Host, source = PROGRAM): Promise<string> {
  const { version, preparations, activations } = planned(host, source);
  await applySteps([...preparations, ...activations], ignore, (warning) => assert.fail(warning));
  return version.name;
}

/** The same program with this text at the end of a hook. */
function otherBuild(host: Host, name: string, change: string, hook = 'prolog.sh'): string {
  const copy = join(host.top, name);
  mkdirSync(copy);
  for (const part of ['package.json', 'hooks']) cpSync(join(PROGRAM, part), join(copy, part), { recursive: true });
  for (const part of ['dist', 'sql', 'node_modules']) symlinkSync(join(PROGRAM, part), join(copy, part));
  appendFileSync(join(copy, 'hooks', hook), change);
  return copy;
}

const modeOf = (path: string): string => (statSync(path).mode & 0o7777).toString(8);
const currentOf = (host: Host): string => readlinkSync(join(host.prefix, 'current'));

async function remove(
  host: Host,
  passThrough: PassThroughNeed,
  now = new Date(),
  purge = false,
  source = PROGRAM,
): Promise<string[]> {
  const warnings: string[] = [];
  const { prefix, settingsPath, places } = host;
  const settings = loadSettings(settingsPath);
  const steps = planNodeRemoval({ source, prefix, settings, settingsPath, places, purge, passThrough, now });
  await applySteps(steps, ignore, (warning) => warnings.push(warning));
  return warnings;
}

/** A hook's exit status when it is started as Grid Engine starts it by our line. */
function runHook(host: Host, stage: string, ...words: string[]): number | null {
  const script = join(host.prefix, 'current', 'hooks', `${stage}.sh`);
  return spawnSync('/usr/bin/env', ['-i', '/bin/sh', '-p', script, '1', '0', ...words]).status;
}

describe('install --node', asRoot, () => {
  it('puts everything in its place, tests it, and finds nothing to do the next time', async () => {
    const host = newHost();
    const name = await install(host);
    assert.equal(currentOf(host), name);
    for (const [path, mode] of [
      ['state', '755'],
      ['state/run', '700'],
      ['state/outbox', '700'],
      ['state/plain', '700'],
      ['run/run', '700'],
      ['opt/current/hooks/prolog.sh', '755'],
      ['opt/current/hooks/advise.jsv', '755'],
      ['opt/current/hooks/hook.conf', '644'],
    ] as const)
      assert.equal(modeOf(join(host.top, path)), mode, path);
    assert.deepEqual(readStamp(host.state), { ...readStamp(host.state), prefix: host.prefix, version: name, ok: true });
    assert.deepEqual(readStamp(host.state)?.services, readdirSync(host.places.cron ?? ''));
    assert.deepEqual(readdirSync(host.state).sort(), ['installed', 'outbox', 'plain', 'run']);
    assert.equal(readlinkSync(join(host.places.commands ?? '', 'qmemacct')), commandPath(host.prefix));
    assert.match(
      readFileSync(join(host.places.cron ?? '', 'qmemacct-flush'), 'utf8'),
      /\/opt\/current\/bin\/qmemacct --config/,
    );
    assert.equal(spawnSync(commandPath(host.prefix), ['--version']).status, 0);
    const again = planned(host);
    assert.deepEqual([again.preparations, again.activations], [[], []]);
    // Users may write only where their records are taken.
    appendFileSync(host.settingsPath, 'accept_self_reported = true\n');
    await applySteps(planned(host).preparations, ignore, (warning) => assert.fail(warning));
    assert.deepEqual(
      ['outbox', 'plain'].map((name) => modeOf(join(host.state, name))),
      ['1733', '1777'],
    );
  });

  it('copies the Node that comes with the program, and takes another Node for another version', async () => {
    const host = newHost();
    const source = otherBuild(host, 'unpacked', '');
    mkdirSync(join(source, 'bin'));
    const own = join(source, 'bin', 'node');
    const withNode = (text: string): NodeInstallation => {
      writeFileSync(own, `#!/bin/sh\n# ${text}\nexec '${process.execPath}' "$@"\n`, { mode: 0o755 });
      return planned(host, source, own);
    };
    const first = withNode('first');
    const { test } = await installOnNode(first, ignore, (warning) => assert.fail(warning));
    assert.deepEqual([test.problems, test.ok], [[], true]);
    const { conf } = first.version;
    assert.equal(conf.node, join(host.prefix, first.version.name, 'bin', 'node'));
    assert.equal(readFileSync(conf.node, 'utf8'), readFileSync(own, 'utf8'));
    // The same from the installed version.
    const again = planned(host, join(host.prefix, first.version.name), conf.node);
    assert.deepEqual([again.preparations, again.activations], [[], []]);
    assert.notEqual(withNode('second').version.name, first.version.name);
    rmSync(source, { recursive: true });
    assert.equal(spawnSync(commandPath(host.prefix), ['--version']).status, 0);
    await remove(host, { kind: 'alone' });
  });

  it('starts the listener at once and after each boot; the next build takes over, and an uninstallation ends it', async () => {
    const host = newHost();
    const first = await installUntested(host);
    const settings = loadSettings(host.settingsPath);
    const listener = (): number => runningListener(settings)?.pid ?? assert.fail('no listener');
    const programOf = (pid: number): string => readFileSync(`/proc/${pid}/cmdline`, 'utf8').split('\0').join(' ');
    const old = listener();
    assert.ok(programOf(old).includes(join(host.prefix, first)));
    const cron = join(host.places.cron ?? '', 'qmemacct-listener');
    const start = `/bin/sh -p ${join(host.prefix, 'current', 'hooks', 'listener.sh')} --detach`;
    for (const when of ['@reboot', '* * * * *'])
      assert.ok(readFileSync(cron, 'utf8').includes(`${when} root [ ! -x ${commandPath(host.prefix)} ] || ${start}\n`));
    // Like the sampler of a running job.
    const job = await until(
      () => connectListener(host.settingsPath, settings, { take: ignore, lost: ignore }),
      'a listener',
    );
    const second = await install(host, otherBuild(host, 'second', '# second\n'));
    assert.ok(programOf(listener()).includes(join(host.prefix, second)));
    assert.ok(await job.sync(60_000), 'the job lost its listener');
    // An upgrade that was interrupted before it restarted the listener.
    const upgrade = planned(host, otherBuild(host, 'third', '# third\n'));
    await applySteps(upgrade.preparations, ignore, ignore);
    switchCurrent(host.prefix, upgrade.version.name);
    assert.deepEqual(
      planned(host, join(host.top, 'third')).activations.map(({ says }) => says),
      ['start the listener of this node'],
    );
    switchCurrent(host.prefix, second);
    rmSync(upgrade.version.directory, { recursive: true });
    // Settings that the listener does not have yet.
    appendFileSync(host.settingsPath, 'helper_deadline = 7\n');
    assert.deepEqual(
      planned(host, join(host.top, 'second')).activations.map(({ says }) => says),
      ['start the listener of this node'],
    );
    job.close();
    await remove(host, { kind: 'alone' });
    assert.equal(runningListener(settings), null);
    assert.ok(!existsSync(cron));
  });

  it('has units of the sampler and the server that systemd starts again however often they fail', () => {
    for (const name of ['sampler', 'serve']) {
      const unit = readFileSync(join(packageRoot(), 'hooks', `qmemacct-${name}.service`), 'utf8');
      const seconds = Number(/^RestartSec=(\d+)$/m.exec(unit)?.[1]);
      // By default systemd gives up after five starts within 10 s.
      assert.ok(/^StartLimitIntervalSec=0$/m.test(unit) || seconds * 5 > 10, unit);
    }
  });

  it('keeps the previous build, prunes older ones, and fixes a damaged one', async () => {
    const host = newHost();
    const first = await installUntested(host);
    const second = await installUntested(host, otherBuild(host, 'second', '# second\n'));
    assert.notEqual(second, first);
    assert.equal(currentOf(host), second);
    assert.ok(existsSync(join(host.prefix, first)));
    // Its listener hands over to the second one's.
    await until(() => !runningVersions(host.prefix).has(first), 'the end of the first listener');
    const third = await install(host, otherBuild(host, 'third', '# third\n'));
    assert.deepEqual(readdirSync(host.prefix).sort(), [second, third, 'current'].sort());
    rmSync(join(host.prefix, second, 'package.json'));
    rmSync(join(host.prefix, third, 'hooks', 'epilog.sh'));
    assert.match(planned(host, join(host.top, 'third')).preparations[0]?.says ?? '', /^replace the damaged/);
    assert.equal(await install(host, join(host.top, 'third')), third);
    assert.ok(existsSync(join(host.prefix, third, 'hooks', 'epilog.sh')));
  });

  it('leaves the good build current when the new one fails its test', async () => {
    const host = newHost();
    const good = await install(host);
    const bad = otherBuild(host, 'bad', '', 'epilog.sh');
    writeFileSync(join(bad, 'hooks', 'epilog.sh'), 'exit 1\n');
    const { test, activated } = await installOnNode(planned(host, bad), ignore, ignore);
    assert.deepEqual([test.ok, activated, currentOf(host)], [false, false, good]);
    assert.match(test.problems.join(), /epilog ended with status 1/);
    assert.equal(readStamp(host.state)?.version, good);
  });

  it('keeps the configuration that is there, and says what it sets differently', () => {
    const host = newHost();
    mkdirSync(join(host.top, 'etc'));
    writeFileSync(host.settingsPath, 'accounting = "/elsewhere/accounting.db"\n');
    const chosen = chooseNodeSettings(host.settingsPath, { accounting: '/here/a.db' }, { cluster: 'main' });
    assert.equal(chosen.text, null);
    assert.equal(chosen.settings.accounting, '/elsewhere/accounting.db');
    assert.equal(chosen.differences.length, 2);
    assert.match(chosen.differences.join('\n'), /keeps accounting = .*, not "\/here\/a.db" \(option\)/);
    assert.match(chosen.differences.join('\n'), /keeps cluster = "", not "main" \(the cell's\)/);
    writeFileSync(host.settingsPath, 'host_complexes = ["a", "b"]\nrequest_complex = ["a", "b"]\n');
    const lists = { host_complexes: ['b', 'a'], request_complex: ['b', 'a'] };
    assert.match(
      chooseNodeSettings(host.settingsPath, {}, lists).differences.join('\n'),
      /^.*: keeps request_complex.*$/,
    );
  });

  it('refuses a configuration that is a link to a missing file', () => {
    const { top, settingsPath } = newHost();
    mkdirSync(join(top, 'etc'));
    symlinkSync(join(top, 'shared', 'q.toml'), settingsPath);
    assert.throws(
      () => chooseNodeSettings(settingsPath, {}, {}),
      /x\.toml: leads to \S+\/shared\/q\.toml, which is not there; put a configuration there/,
    );
    mkdirSync(join(top, 'shared'));
    writeFileSync(join(top, 'shared', 'q.toml'), 'cluster = "linked"\n');
    assert.equal(chooseNodeSettings(settingsPath, {}, {}).settings.cluster, 'linked');
  });

  it('is refused with another configuration than that of the installation on the host, unless that one has moved', async () => {
    const host = newHost();
    await installUntested(host);
    const other = { ...host, settingsPath: join(host.top, 'etc', 'two.toml') };
    const refused = { message: /two\.toml: this host is installed with .*x\.toml, and has one configuration/ };
    assert.throws(() => planned(other), refused);
    assert.throws(() => planned({ ...other, prefix: join(host.top, 'opt2') }), refused, 'its cron tables');
    assert.doesNotThrow(() => planned({ ...host, prefix: join(host.top, 'opt2') }), 'the program elsewhere');
    renameSync(host.settingsPath, other.settingsPath);
    assert.doesNotThrow(() => planned(other));
    renameSync(other.settingsPath, host.settingsPath);
    await remove(host, { kind: 'named', reason: 'the global configuration names them' });
    assert.doesNotThrow(() => planned(other), 'after its removal');
  });

  it('refuses a path of the configuration that no unit or cron table can name', () => {
    const host = newHost();
    assert.throws(() => planned({ ...host, settingsPath: join(host.top, 'my etc', 'x.toml') }), {
      status: 2,
      message: /^--config ".*my etc\/x\.toml": stands in units and cron tables, which take letters/,
    });
  });

  it('refuses an accounting DB that is neither absolute path nor URL, or holds a password', () => {
    const { settingsPath } = newHost();
    for (const [accounting, problem] of [
      ['relative.db', /^install --node: "accounting" is not an absolute path, nor postgres:/],
      ['', /"accounting" is not an absolute path/],
      ['http://h/', /"accounting" is not an absolute path/],
      ['postgres://u:secret@h/db', /^install --node: "accounting" holds a password; /],
    ] as const)
      assert.throws(
        () => chooseNodeSettings(settingsPath, { accounting }, {}),
        (error) => error instanceof SettingsError && error.status === 2 && problem.test(error.message),
        accounting,
      );
    assert.doesNotThrow(() => chooseNodeSettings(settingsPath, { accounting: 'postgres://h/db' }, { cluster: 'main' }));
  });

  it('warns of tables of unknown sources', async () => {
    const host = newHost();
    mkdirSync(join(host.top, 'etc'));
    writeFileSync(
      host.settingsPath,
      `state_dir = "${host.state}"\nrun_dir = "${join(host.top, 'run')}"\n[sources.loadavrg]\ninterval = 1\n`,
    );
    const terminal = fakeTerminal();
    const words = ['--config', host.settingsPath, '--prefix', host.prefix];
    assert.equal(await runProgram(['install', '--node', '--dry-run', ...words], '0', terminal), 0);
    assert.match(terminal.warnings(), /x\.toml: \[sources\.loadavrg\]: no such source; .*; as if it were not there$/m);
    assert.match(terminal.output(), /^make /m);
  });

  it('refuses a prefix that others can write to', () => {
    const host = newHost();
    chmodSync(host.top, 0o777);
    assert.throws(() => planned(host), /everyone can write to .*; fix that, or choose another --prefix/);
  });
});

describe('uninstall --node', asRoot, () => {
  it("leaves hooks that start the site's own hooks, until nothing names them", async () => {
    const host = newHost();
    const name = await install(host);
    const siteHook = join(host.top, 'site.sh');
    writeFileSync(siteHook, '#!/bin/sh\n[ "$1" = word ] && exit 7\n');
    chmodSync(siteHook, 0o755);
    // A job that began before the removal.
    const run = join(host.state, 'run', '1.0.0123abcd.1.1');
    mkdirSync(run);
    const first = await remove(host, { kind: 'named', reason: 'the global configuration names them' });
    assert.match(
      first.join('\n'),
      new RegExp(`${name}: stays until the jobs.*\n.*the global configuration names them`),
    );
    assert.equal(currentOf(host), 'uninstalled');
    assert.equal(runHook(host, 'prolog'), 0);
    assert.equal(runHook(host, 'epilog'), 0);
    assert.equal(runHook(host, 'prolog', '--', `root@${siteHook}`, 'word'), 7);
    assert.equal(runHook(host, 'epilog', '--', `root@${siteHook}`, 'word'), 7);
    assert.equal(readStamp(host.state), null);
    assert.deepEqual(readdirSync(host.places.commands ?? ''), []);
    assert.deepEqual(readdirSync(host.places.cron ?? ''), []);

    rmSync(run, { recursive: true });
    assert.match((await remove(host, { kind: 'unnamed' })).join('\n'), /execd may not have heard that yet/);
    assert.deepEqual(readdirSync(host.prefix).sort(), ['current', 'uninstalled']);
    assert.deepEqual(await remove(host, { kind: 'unnamed' }, new Date(Date.now() + 11 * 60_000)), []);
    assert.ok(!existsSync(host.prefix));
    assert.ok(existsSync(host.settingsPath) && existsSync(host.state));
  });

  it('removes all at once where there is no Grid Engine, and the records too with --purge', async () => {
    const host = newHost();
    await installUntested(host);
    // Any user can put this there; its whole path is longer than the kernel takes.
    const deep = spawnSync('mkdir', ['-p', 'd/'.repeat(2040)], { cwd: join(host.state, 'plain') });
    assert.equal(deep.status, 0);
    assert.deepEqual(await remove(host, { kind: 'alone' }, new Date(), true), []);
    assert.ok(![host.prefix, host.state, host.settingsPath].some((path) => existsSync(path)));
  });

  it('says why --purge could not remove the records', async (t) => {
    const host = newHost();
    await installUntested(host);
    const busy = join(host.state, 'plain');
    if (spawnSync('mount', ['--bind', busy, busy]).status !== 0) {
      t.skip('nothing can be mounted here');
      return;
    }
    t.after(() => spawnSync('umount', [busy]));
    const removed = remove(host, { kind: 'alone' }, new Date(), true);
    await assert.rejects(removed, /could not remove .*: Device or resource busy; fix that/);
  });

  it('says how the hooks that stay are removed later, also where the program itself is removed', async () => {
    const host = newHost();
    const name = await installUntested(host);
    const away = { kind: 'named', reason: 'qmaster does not answer' } as const;
    const [gone] = await remove(host, away, new Date(), false, join(host.prefix, name));
    assert.ok(
      gone?.endsWith(`. The program has gone: once nothing names them, "rm -r ${host.prefix}" removes them`),
      gone,
    );
    const [there] = await remove(host, away, new Date(), false, packageRoot());
    assert.ok(
      there?.endsWith(`. Run "${packageRoot()}/bin/qmemacct uninstall --node" again later to remove them`),
      there,
    );
  });

  it('removes what killed installations have left', async () => {
    const host = newHost();
    await installUntested(host);
    const left = ['.0.1.0-0123456789.0123456789ab', '.current.0123456789ab', '.uninstalled.0123456789ab'];
    const leave = (): void => {
      for (const name of left) {
        mkdirSync(join(host.prefix, name));
        utimesSync(join(host.prefix, name), 1, 1);
      }
    };
    leave();
    mkdirSync(join(host.prefix, '.0.1.0-0123456789.fedcba987654'));
    assert.deepEqual(
      planned(host).activations.map(({ says }) => says),
      [`remove ${left.join(', ')}: nothing runs from there`],
    );
    rmdirSync(join(host.prefix, '.0.1.0-0123456789.fedcba987654'));
    assert.deepEqual(await remove(host, { kind: 'alone' }), []);
    assert.ok(!existsSync(host.prefix));
  });

  it("leaves hooks that start the site's own hooks where hook.conf is damaged", async () => {
    const host = newHost();
    await installUntested(host);
    writeFileSync(join(host.prefix, 'current', 'hooks', 'hook.conf'), '');
    await remove(host, { kind: 'named', reason: 'the queue all.q names them' });
    const site = join(host.top, 'site.sh');
    writeFileSync(site, '#!/bin/sh\nexit 3\n', { mode: 0o755 });
    for (const stage of ['prolog', 'epilog'])
      assert.deepEqual([runHook(host, stage), runHook(host, stage, '--', `root@${site}`)], [0, 3]);
  });

  it('can be followed by another installation', async () => {
    const host = newHost();
    const name = await installUntested(host);
    await remove(host, { kind: 'named', reason: 'x' });
    assert.equal(await install(host), name);
    assert.equal(currentOf(host), name);
    assert.match(planned(host).activations[0]?.says ?? '', /^remove .*\/uninstalled$/);
  });
});

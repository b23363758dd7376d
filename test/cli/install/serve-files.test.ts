import assert from 'node:assert/strict';
import { spawn, spawnSync, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import {
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { commandPath, hookDirectory } from '../../../src/cli/install/places';
import { removeServeSteps, serveSteps } from '../../../src/cli/install/serve-files';
import { fromTemplate, isSetUp, SERVER, type Host } from '../../../src/cli/install/services';
import type { Step } from '../../../src/cli/install/steps';
import { packageRoot } from '../../../src/base/package-root';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';
import { fakeSystemd } from './fake-systemd';

const isRoot = process.getuid?.() === 0;
const asRoot = { skip: !isRoot && 'installs as root' };
const analyse = '/usr/bin/systemd-analyze';

function newHost(units: string | null): Host {
  const top = temporaryDirectory();
  const cron = join(top, 'cron.d');
  mkdirSync(cron);
  const places = { units, cron: units === null ? cron : null, tmpfiles: null, commands: null };
  const hooks = join(packageRoot(), 'hooks');
  return {
    places,
    prefix: join(top, 'opt'),
    settingsPath: '/etc/x.toml',
    hooks,
    settings: {
      ...DEFAULT_SETTINGS,
      deliver_as: isRoot ? 'nobody' : 'root',
      accounting: '/shared/accounting/accounting.db',
      serve_socket: join(top, 'serve', 'socket'),
    },
  };
}

/** Applies all steps but the last, which asks the server. Returns their warnings. */
async function apply(steps: readonly Step[]): Promise<readonly (string | null)[]> {
  const warnings: (string | null)[] = [];
  for (const { apply: act } of steps.slice(0, -1)) warnings.push(await act());
  return warnings.filter((warning) => warning !== null);
}

async function onSystemd(t: TestContext): Promise<void> {
  const { units, calls, stop } = fakeSystemd(t);
  const host = newHost(units);
  const { places, settings } = host;
  const steps = serveSteps(host, false);
  assert.match(steps.at(-1)?.says ?? '', /^ask the server at /);
  assert.deepEqual(await apply(steps), []);
  assert.deepEqual(calls(), [
    'daemon-reload',
    'enable qmemacct-serve.socket qmemacct-serve.service',
    'restart qmemacct-serve.socket qmemacct-serve.service',
  ]);
  assert.deepEqual(serveSteps(host, false), []);
  const service = readFileSync(join(units, 'qmemacct-serve.service'), 'utf8');
  assert.match(service, /^User=nobody$/m);
  assert.match(service, /^ReadWritePaths=-\/shared\/accounting$/m);
  assert.ok(
    readFileSync(join(units, 'qmemacct-serve.socket'), 'utf8').includes(`ListenStream=${settings.serve_socket}`),
  );
  // Another version of the program: the server is restarted.
  assert.deepEqual(await apply(serveSteps(host, true)), []);
  assert.equal(calls().at(-1), 'restart qmemacct-serve.socket qmemacct-serve.service');

  // A server that has ended is started.
  stop();
  assert.deepEqual(await apply(serveSteps(host, false)), []);
  assert.equal(calls().at(-1), 'restart qmemacct-serve.socket qmemacct-serve.service');

  writeFileSync(join(units, 'qmemacct-serve.service'), service.replace('Nice=5', 'Nice=1'));
  const [left] = serveSteps(host, false);
  assert.match(String(await left?.apply()), /was changed on this host, and stays/);
  for (const { apply: act } of removeServeSteps(places, settings)) await act();
  assert.deepEqual(calls(), ['disable --now qmemacct-serve.socket qmemacct-serve.service']);
  assert.deepEqual([readdirSync(units), isSetUp(SERVER, places)], [['qmemacct-serve.service'], true]);
}

function verifyUnits(): void {
  const made = newHost(null);
  const host = { ...made, settings: { ...made.settings, deliver_as: 'root' } };
  const directory = temporaryDirectory();
  const command = commandPath(host.prefix);
  mkdirSync(dirname(command), { recursive: true });
  symlinkSync('/bin/true', command);
  const paths = ['qmemacct-serve.service', 'qmemacct-serve.socket'].map((name) => {
    const path = join(directory, name);
    const text = fromTemplate(host, name);
    assert.ok(!/@[A-Z_]+@/.test(text), name);
    writeFileSync(path, text);
    return path;
  });
  const { stderr, status } = spawnSync(analyse, ['verify', ...paths], { encoding: 'utf8' });
  const about = stderr.split('\n').filter((line) => line.includes(directory) || line.includes('qmemacct-serve'));
  assert.deepEqual([status, about], [0, []], stderr);
}

/** What serve.sh, as cron starts it, runs while another process has a lock on the file; node is `echo`. */
function started(directory: string, locked: string): string {
  const hooks = join(directory, 'hooks');
  const serve = join(hooks, 'serve.sh');
  mkdirSync(hooks, { recursive: true });
  copyFileSync(join(packageRoot(), 'hooks/serve.sh'), serve);
  writeFileSync(join(hooks, 'hook.conf'), 'node=/bin/echo\nprogram=/p\nsettings=/s\n');
  const { stdout, stderr, status } = spawnSync('flock', [join(directory, locked), '/bin/sh', '-p', serve, directory], {
    encoding: 'utf8',
  });
  assert.deepEqual([stderr, status], ['', 0]);
  return stdout;
}

/** A server on the socket that --config names, which closes its socket 1 s before it ends. */
const SLOW_TO_END = `
const { appendFileSync, rmSync } = require('node:fs');
const path = process.argv[3];
rmSync(path, { force: true });
const server = require('node:net').createServer().listen(path, () => appendFileSync(path + '.pids', process.pid + '\\n'));
process.on('SIGTERM', () => { server.close(); setTimeout(() => process.exit(), 1000); });
`;

async function byCron(t: TestContext): Promise<void> {
  const made = newHost(null);
  const host = { ...made, settings: { ...made.settings, deliver_as: 'root' } };
  const { prefix, places, settings } = host;
  const { serve_socket: socket } = settings;
  const [hooks, program] = [hookDirectory(prefix), join(prefix, 'current/dist/src/cli')];
  for (const path of [hooks, program]) mkdirSync(path, { recursive: true });
  copyFileSync(join(packageRoot(), 'hooks/serve.sh'), join(hooks, 'serve.sh'));
  writeFileSync(join(program, 'main.js'), SLOW_TO_END);
  writeFileSync(
    join(hooks, 'hook.conf'),
    `node=${process.execPath}\nprogram=${join(prefix, 'current')}\nsettings=${socket}\n`,
  );
  const pids = (): readonly number[] =>
    existsSync(`${socket}.pids`) ? readFileSync(`${socket}.pids`, 'utf8').trim().split('\n').map(Number) : [];
  t.after(() => {
    for (const pid of pids()) if (existsSync(`/proc/${pid}`)) process.kill(pid, 'SIGKILL');
  });
  assert.deepEqual(await apply(serveSteps(host, false)), []);
  await until(() => pids().length === 1, 'the first server');
  assert.deepEqual(serveSteps(host, false), []);

  assert.deepEqual(await apply(serveSteps(host, true)), []);
  await until(() => pids().length === 2, 'the server of the new program');
  const [first, second] = pids() as [number, number];
  assert.ok(!existsSync(`/proc/${first}`));

  process.kill(second, 'SIGKILL');
  await until(() => serveSteps(host, false).some(({ says }) => says === 'start the server'), 'one that is to start');
  assert.deepEqual(await apply(serveSteps(host, false)), []);
  await until(() => pids().length === 3, 'the server after one that was killed');
  for (const { apply: act } of removeServeSteps(places, settings)) assert.equal(await act(), null);
  assert.ok(!existsSync(`/proc/${pids()[2]}`));
}

describe('the installed server', () => {
  it('runs only once at a time, by a lock that no other user can hold', () => {
    const directory = temporaryDirectory();
    const serves = '/p/dist/src/cli/main.js --config /s serve\n';
    assert.equal(started(directory, 'hooks/serve.sh'), serves);
    assert.equal(statSync(join(directory, 'lock')).mode & 0o777, 0o600);
    assert.equal(started(directory, 'lock'), '');
    const line = fromTemplate({ ...newHost(null), prefix: '/opt/x' }, 'qmemacct-serve.cron');
    assert.match(line, /\/opt\/x\/current\/hooks\/serve\.sh \/\S+\/serve 2>&1/);
  });

  it('is started by units, which are stopped and removed, or kept where changed', asRoot, onSystemd);

  it('is started by cron once the old one has ended, and whenever none runs', asRoot, byCron);

  it('has units that systemd accepts', { skip: !existsSync(analyse) && 'no systemd-analyze' }, verifyUnits);

  it('is refused with paths that a cron table or a unit cannot name', () => {
    const host = newHost('/units');
    for (const changes of [
      { serve_socket: '/run/a b/socket' },
      { serve_socket: '/run/%/socket' },
      { serve_socket: '/run/$(x)/socket' },
      { accounting: '/shared/my db/accounting.db' },
    ])
      assert.throws(
        () => serveSteps({ ...host, settings: { ...host.settings, ...changes } }, false),
        /stands in units and cron tables, which take letters, digits/,
      );
  });

  it('is restarted where an interrupted upgrade has left it with the old program', asRoot, async (t) => {
    const { units } = fakeSystemd(t);
    const host = newHost(units);
    const [old, current] = ['1.0.0-0123456789', '1.0.0-9876543210'].map((name) => join(host.prefix, name));
    mkdirSync(current ?? '', { recursive: true });
    symlinkSync(current ?? '', join(host.prefix, 'current'));
    await apply(serveSteps(host, false));
    const start = (version = ''): ChildProcess => {
      const words = ['-e', 'setInterval(() => undefined, 1e6)', `${version}/dist/src/cli/main.js`, 'serve'];
      const child = spawn(process.execPath, words, { stdio: 'ignore' });
      t.after(() => child.kill('SIGKILL'));
      return child;
    };
    start(current);
    const left = start(old);
    await until(() => readFileSync(`/proc/${left.pid ?? 0}/cmdline`, 'utf8').includes('serve'), 'a server');
    assert.match(serveSteps(host, false)[0]?.says ?? '', /^systemctl enable and restart /);
    const gone = once(left, 'exit');
    left.kill('SIGKILL');
    await gone;
    assert.deepEqual(serveSteps(host, false), []);
  });
});

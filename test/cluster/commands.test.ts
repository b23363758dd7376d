import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SETTINGS_FILE } from '../../src/record/settings';
import { upCell, type Cell } from './cell';
import { client, kind } from './kind';
import { envOptions, MOUNT_PRIVATE_DIRECTORIES, settingsOf } from './product';
import { siteObstacle } from './site';
import { COMMAND } from '../support/qmemacct';
import { until } from '../support/until';

const USER = 'gealice';

interface Installation {
  readonly cell: Cell;
  readonly prefix: string;
  readonly accounting: string;
}

async function installOn(
  { cell, prefix, accounting }: Installation,
  host: string,
  ...more: readonly string[]
): Promise<void> {
  await cell.check(host, MOUNT_PRIVATE_DIRECTORIES);
  const words = ['install', '--node', '--yes', '--prefix', prefix, '--accounting', accounting, ...more];
  const { status, stdout, stderr } = await cell.on(host, ['node', COMMAND, ...words]);
  assert.equal(status, 0, stdout + stderr);
  assert.ok(!stderr.includes('no server answers'), stderr);
  await cell.check(host, `cat >>${SETTINGS_FILE}`, { stdin: settingsOf(cell, 'delivery_jitter_ms = 0') });
}

/** `install` on the master, which first asks each host: without sshd, by a command in the namespaces of its execd. */
async function configure({ cell, prefix }: Installation): Promise<void> {
  const ask = join(cell.stateDir, 'ask');
  const pids = cell.execHosts.map((host) => `${host}) pid=${cell.processes(host)[0]?.pid ?? 0} ;;`);
  const enter = 'exec nsenter --target "$pid" --net --uts --mount -- "$@"';
  writeFileSync(ask, `case "$1" in ${pids.join(' ')} esac; shift; ${enter}\n`);
  const words = ['install', '--yes', '--prefix', prefix, '--node-check', `sh ${ask} {host}`];
  const { status, stdout, stderr } = await cell.on(cell.master, ['qmemacct', ...words, ...envOptions(cell)]);
  assert.equal(status, 0, stdout + stderr);
  await cell.waitForHookConfig();
}

/** Repeats the user's command until its output is as wanted, and returns the output. */
async function awaitOutput(cell: Cell, words: readonly string[], wanted: RegExp): Promise<string> {
  let last = '';
  return until(
    async () => {
      const { stdout, stderr } = await cell.on(cell.master, ['qmemacct', ...words], { user: USER });
      last = stdout + stderr;
      return wanted.test(stdout) ? stdout : null;
    },
    () => `${wanted.source} in: ${last}`,
    1000,
  );
}

async function causeOfDeletedJob({ cell, accounting }: Installation, say: (line: string) => void): Promise<void> {
  const job = await cell.submit(USER, ['-N', 'gone', '-l', 'h_vmem=1G,h_rt=600'], 'touch ~/gone.begun; sleep 300');
  // qmaster shows a job as running while its prolog runs.
  await until(() => existsSync(join(cell.layout.home(USER), 'gone.begun')), `the script of job ${job}`);
  await cell.check(cell.master, [client('qdel'), job]);
  await cell.waitFinished(job);
  const began = Date.now();
  const cause = kind.dialect === 'ocs' ? /Grid Engine says that \S+ deleted it/ : /failed 100, as for a deleted/;
  const screen = await awaitOutput(cell, ['job', job, '--full'], cause);
  say(`known to its user ${((Date.now() - began) / 1000).toFixed(1)} s after its accounting line`);
  assert.match(screen, /of the 1 GiB|1 GiB/);
  const own = await cell.on(cell.master, ['test', '-r', accounting], { user: USER });
  assert.notEqual(own.status, 0, 'the accounting DB is not for users');
}

/** As after a boot: no server runs, its directory is gone, and cron does what its table says. */
async function serverRestarts({ cell }: Installation): Promise<void> {
  const table = await cell.check(cell.master, 'cat /etc/cron.d/qmemacct-serve');
  const lines = [...table.matchAll(/^(@reboot|\* \* \* \* \*) (\S+) (.*)$/gm)];
  assert.deepEqual(
    lines.map(([, when, user]) => [when, user]),
    [
      ['@reboot', 'root'],
      ['* * * * *', 'sgeadmin'],
    ],
  );
  for (const { pid } of cell.processes(cell.master).filter(({ command }) => command.endsWith(' serve')))
    process.kill(pid, 'SIGKILL');
  await cell.check(cell.master, 'rm -rf /run/qmemacct/serve');
  const [atBoot = '', everyMinute = ''] = lines.map(([, , , command]) => command);
  await cell.check(cell.master, ['sh', '-c', atBoot]);
  void cell.on(cell.master, ['sh', '-c', everyMinute], { user: 'sgeadmin', cwd: '/' });
  await awaitOutput(cell, ['owner', USER, '--since', '1d'], /gone/);
}

async function uninstallStopsServer({ cell, prefix }: Installation): Promise<void> {
  await cell.check(cell.master, [`${prefix}/current/bin/qmemacct`, 'uninstall', '--node', '--yes', '--prefix', prefix]);
  const left = await cell.on(cell.master, 'ls /etc/cron.d; ls /run/qmemacct/serve');
  assert.ok(!/qmemacct|socket/.test(left.stdout), left.stdout);
}

describe('an installation on a cell of three hosts', () => {
  it('takes five commands until users see their jobs', { timeout: 2_000_000 }, async (t) => {
    const obstacle = siteObstacle();
    if (obstacle !== null) {
      t.skip(obstacle);
      return;
    }
    const cell = await upCell({ waitMs: 600_000 });
    const accounting = join(cell.stateDir, 'accounting', 'accounting.db');
    mkdirSync(join(cell.stateDir, 'accounting'));
    chmodSync(join(cell.stateDir, 'accounting'), 0o755);
    const place = { cell, accounting, prefix: join(cell.stateDir, 'opt') };
    try {
      for (const host of cell.execHosts) await installOn(place, host);
      await installOn(place, cell.master, '--serve');
      await configure(place);
      await t.test('a user sees why a job ended, without any import', (test) =>
        causeOfDeletedJob(place, (line) => test.diagnostic(line)),
      );
      await t.test('the server comes back after a boot', () => serverRestarts(place));
      await t.test('uninstall stops the server', () => uninstallStopsServer(place));
    } finally {
      await cell.down();
    }
  });
});

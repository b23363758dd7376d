import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { SETTINGS_FILE } from '../../src/record/settings';
import { upCell, type Cell } from './cell';
import { client, kind } from './kind';
import { envOptions, KEEP_FROM_THE_MACHINE, settingsOf } from './product';
import { siteObstacle } from './site';
import { COMMAND } from '../support/qmemacct';
import { until } from '../support/until';

const USER = 'gealice';

interface Place {
  readonly cell: Cell;
  readonly prefix: string;
  readonly accounting: string;
}

async function installOn({ cell, prefix, accounting }: Place, host: string, ...more: readonly string[]): Promise<void> {
  await cell.check(host, KEEP_FROM_THE_MACHINE);
  const words = ['install', '--node', '--yes', '--prefix', prefix, '--accounting', accounting, ...more];
  const { status, stdout, stderr } = await cell.on(host, ['node', COMMAND, ...words]);
  assert.equal(status, 0, stdout + stderr);
  assert.ok(!stderr.includes('no server answers'), stderr);
  await cell.check(host, `cat >>${SETTINGS_FILE}`, { stdin: settingsOf(cell, 'delivery_jitter_ms = 0') });
}

/** `install` on the master, which asks each host first: there is no sshd, so in the namespaces of its execd. */
async function configure({ cell, prefix }: Place): Promise<void> {
  const ask = join(cell.stateDir, 'ask');
  const pids = cell.execHosts.map((host) => `${host}) pid=${cell.processes(host)[0]?.pid ?? 0} ;;`);
  const enter = 'exec nsenter --target "$pid" --net --uts --mount -- "$@"';
  writeFileSync(ask, `case "$1" in ${pids.join(' ')} esac; shift; ${enter}\n`);
  const words = ['install', '--yes', '--prefix', prefix, '--node-check', `sh ${ask} {host}`];
  const { status, stdout, stderr } = await cell.on(cell.master, ['qmemacct', ...words, ...envOptions(cell)]);
  assert.equal(status, 0, stdout + stderr);
  await cell.waitForHookConfig();
}

/** What the user's own command says, until it says this. */
async function seen(cell: Cell, words: readonly string[], wanted: RegExp): Promise<string> {
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

async function deleted({ cell, accounting }: Place, say: (line: string) => void): Promise<void> {
  const job = await cell.submit(USER, ['-N', 'gone', '-l', 'h_vmem=1G,h_rt=600'], 'touch ~/gone.begun; sleep 300');
  // To qmaster a job runs while its prolog does.
  await until(() => existsSync(join(cell.layout.home(USER), 'gone.begun')), `the script of job ${job}`);
  await cell.check(cell.master, [client('qdel'), job]);
  await cell.waitFinished(job);
  const began = Date.now();
  const cause = kind.dialect === 'ocs' ? /Grid Engine says that \S+ deleted it/ : /failed 100, as for a deleted/;
  const screen = await seen(cell, ['job', job, '--full'], cause);
  say(`known to its user ${((Date.now() - began) / 1000).toFixed(1)} s after its accounting line`);
  assert.match(screen, /of the 1 GiB|1 GiB/);
  const own = await cell.on(cell.master, ['test', '-r', accounting], { user: USER });
  assert.notEqual(own.status, 0, 'the accounting DB is not for users');
}

/** As after a boot: nothing runs, /run is empty, and cron does what its table says. */
async function comesBack({ cell }: Place): Promise<void> {
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
  await seen(cell, ['owner', USER, '--since', '1d'], /gone/);
}

async function removed({ cell, prefix }: Place): Promise<void> {
  await cell.check(cell.master, [`${prefix}/current/bin/qmemacct`, 'uninstall', '--node', '--yes', '--prefix', prefix]);
  const left = await cell.on(cell.master, 'ls /etc/cron.d; ls /run/qmemacct/serve');
  assert.ok(!/qmemacct|socket/.test(left.stdout), left.stdout);
}

describe('a cell of three hosts', () => {
  it('from nothing to what a user sees, in five commands', { timeout: 2_000_000 }, async (t) => {
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
      await t.test('the cause of an end, without any import', (test) =>
        deleted(place, (line) => test.diagnostic(line)),
      );
      await t.test('the server comes back after a boot', () => comesBack(place));
      await t.test('uninstall ends it', () => removed(place));
    } finally {
      await cell.down();
    }
  });
});

import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import {
  chmodSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { nightlySteps } from '../../../src/cli/install/nightly-files';
import type { SystemPlaces } from '../../../src/cli/install/places';
import {
  FLUSH,
  fromTemplate,
  isSetUp,
  isTimed,
  NIGHTLY,
  removalSteps,
  setUpSteps,
  type Host,
} from '../../../src/cli/install/services';
import type { Step } from '../../../src/cli/install/steps';
import { shellQuoted } from '../../../src/cli/install/hook-conf';
import { packageRoot } from '../../../src/base/package-root';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeSystemd } from './fake-systemd';

const isRoot = process.getuid?.() === 0;
const asRoot = { skip: !isRoot && 'installs as root' };
const analyse = '/usr/bin/systemd-analyze';

interface Here {
  readonly host: Host;
  readonly cron: string;
}

function newHost(): Here {
  const top = temporaryDirectory();
  const cron = join(top, 'cron.d');
  mkdirSync(cron);
  const prefix = join(top, 'opt');
  const places = { units: null, cron, tmpfiles: null, commands: null };
  const hooks = join(packageRoot(), 'hooks');
  const settings = {
    ...DEFAULT_SETTINGS,
    deliver_as: isRoot ? 'nobody' : 'root',
    report_dir: join(top, 'reports'),
    digest_dir: join(top, 'digest'),
  };
  return { host: { places, prefix, settings, settingsPath: '/etc/x.toml', hooks }, cron };
}

async function apply({ host }: Pick<Here, 'host'>): Promise<(string | null)[]> {
  const warnings: (string | null)[] = [];
  for (const { apply: act } of nightlySteps(host, true)) warnings.push(await act());
  return warnings;
}

async function remove(places: SystemPlaces): Promise<(string | null)[]> {
  const warnings: (string | null)[] = [];
  for (const { apply: act } of removalSteps(NIGHTLY, places)) warnings.push(await act());
  return warnings;
}

describe('files of the nightly job', () => {
  it('include a line of cron that starts it twice a night as the user of the accounting DB', asRoot, async () => {
    const here = newHost();
    assert.deepEqual(await apply(here), [null, null]);
    const text = readFileSync(join(here.cron, 'qmemacct-nightly'), 'utf8');
    assert.match(text, /^15 2,5 \* \* \* nobody \[ ! -x .*\/bin\/sh -p .*\/opt\/current\/hooks\/nightly\.sh/m);
    assert.ok(!text.includes('@') && text.endsWith('\n'));
    assert.deepEqual(nightlySteps(here.host, true), []);
    assert.ok(isSetUp(NIGHTLY, here.host.places));
  });

  it('include a directory of reports for their writer and one of choices for everybody', asRoot, async () => {
    const here = newHost();
    await apply(here);
    const reports = statSync(here.host.settings.report_dir);
    const digest = statSync(here.host.settings.digest_dir);
    assert.deepEqual([reports.mode & 0o7777, digest.mode & 0o7777, digest.uid], [0o2750, 0o1777, 0]);
    assert.notEqual(reports.uid, 0);
  });

  it('are replaced for another user, and removed by an uninstallation', asRoot, async () => {
    const here = newHost();
    const path = join(here.cron, 'qmemacct-nightly');
    await apply(here);
    const other = { host: { ...here.host, settings: { ...here.host.settings, deliver_as: 'root' } } };
    assert.deepEqual(await apply(other), [null]);
    assert.match(readFileSync(path, 'utf8'), / root \[ ! -x/);
    assert.deepEqual(await remove(here.host.places), [null]);
    assert.ok(!existsSync(path) && !isSetUp(NIGHTLY, here.host.places));
    assert.deepEqual(removalSteps(NIGHTLY, here.host.places), []);
  });

  it('are left alone, with a warning, where an admin has changed them', asRoot, async () => {
    const here = newHost();
    const path = join(here.cron, 'qmemacct-nightly');
    await apply(here);
    for (const changed of [readFileSync(path, 'utf8').replace('15 2,5', '45 6'), '# my own\n0 3 * * * root true\n']) {
      writeFileSync(path, changed);
      assert.match(
        String(await apply(here)),
        /^\S+nightly: was changed on this host, and stays; remove it and install/,
      );
      assert.match(String(await remove(here.host.places)), /was changed on this host, and stays; without the program/);
      assert.equal(readFileSync(path, 'utf8'), changed);
    }
  });

  it('are units under systemd: enabled, kept where changed, else stopped and removed', asRoot, async (t) => {
    const { host } = newHost();
    const { units, calls } = fakeSystemd(t);
    const places = { ...host.places, units, cron: null };
    const here = { host: { ...host, places } };
    assert.deepEqual((await apply(here)).filter(Boolean), []);
    assert.deepEqual(calls(), ['daemon-reload', 'enable qmemacct-nightly.timer', 'restart qmemacct-nightly.timer']);
    assert.deepEqual(nightlySteps(here.host, true), []);

    const service = join(units, 'qmemacct-nightly.service');
    const mine = readFileSync(service, 'utf8').replace('#Environment=SGE_ROOT', 'Environment=SGE_ROOT');
    writeFileSync(service, mine);
    assert.deepEqual((await apply(here)).length, 1);
    assert.deepEqual(calls(), []);
    const [, , warning] = await remove(places);
    assert.match(String(warning), /nightly\.service: was changed on this host/);
    assert.deepEqual(calls(), ['disable --now qmemacct-nightly.timer', 'stop qmemacct-nightly.service']);
    assert.equal(readFileSync(service, 'utf8'), mine);
    assert.deepEqual([readdirSync(units), isSetUp(NIGHTLY, places)], [['qmemacct-nightly.service'], false]);
  });

  it('include timers, which the next installation starts where one was interrupted', asRoot, (t) => {
    const { host } = newHost();
    const { units, stop } = fakeSystemd(t);
    const here = { ...host, places: { ...host.places, units, cron: null } };
    const plans: Readonly<Record<string, () => readonly Step[]>> = {
      nightly: () => nightlySteps(here, true),
      flush: () => setUpSteps(FLUSH, here, { runs: isTimed(FLUSH, here.places) }),
    };
    stop();
    for (const [name, plan] of Object.entries(plans)) {
      for (const { says, apply: act } of plan()) if (!says.startsWith('systemctl')) void act();
      assert.deepEqual(
        plan().map(({ says }) => says),
        [`systemctl enable and restart qmemacct-${name}.timer`],
      );
    }
    // An upgrade starts nothing that an admin has stopped.
    assert.deepEqual(nightlySteps(here, false), []);
  });

  it('are not made where another user could put a link', asRoot, async () => {
    const here = newHost();
    chmodSync(join(here.cron, '..'), 0o777);
    assert.match((await apply(here))[0] ?? '', /was not made: its parent is not root's alone; install -d -m/);
    assert.ok(!existsSync(here.host.settings.digest_dir));
  });

  it('are units that systemd accepts', { skip: !existsSync(analyse) && 'no systemd-analyze' }, () => {
    const { host } = newHost();
    const directory = temporaryDirectory();
    const paths = ['qmemacct-nightly.service', 'qmemacct-nightly.timer'].map((name) => {
      const text = fromTemplate({ ...host, settings: { ...host.settings, deliver_as: 'root' } }, name);
      assert.ok(!/@[A-Z]+@/.test(text), name);
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    });
    const { stderr, status } = spawnSync(analyse, ['verify', ...paths], { encoding: 'utf8' });
    const about = stderr.split('\n').filter((line) => line.includes(directory) || line.includes('qmemacct-nightly'));
    assert.deepEqual([status, about], [0, []], stderr);
    const calendar = readFileSync(paths[1] ?? '', 'utf8').match(/(?<=OnCalendar=).*/g) ?? [];
    assert.equal(calendar.length, 2);
    for (const one of calendar) execFileSync(analyse, ['calendar', one], { stdio: 'ignore' });
  });

  for (const shell of ['/bin/dash', '/bin/bash'].filter((path) => existsSync(path)))
    it(`include a nightly.sh that starts the command with a low priority and a clean environment, under ${shell}`, () => {
      const directory = temporaryDirectory();
      copyFileSync(join(packageRoot(), 'hooks', 'nightly.sh'), join(directory, 'nightly.sh'));
      const node = join(directory, 'a node');
      const show = '#!/bin/sh\nprintf "%s\\n" "$@"; echo; /usr/bin/env | sort; nice\n';
      writeFileSync(node, show, { mode: 0o755 });
      const settings = join(directory, 'x.toml');
      const conf = [`node=${shellQuoted(node)}`, "program='/opt/it is'", `settings=${shellQuoted(settings)}`];
      writeFileSync(join(directory, 'hook.conf'), `${conf.join('\n')}\n`);
      symlinkSync(directory, join(directory, 'current'));
      const { stdout, status } = spawnSync(shell, ['-p', join(directory, 'current', 'nightly.sh'), '--date', 'a b'], {
        env: { SGE_ROOT: '/opt/s g e', SGE_CELL: 'a"; echo x', NODE_OPTIONS: '--inspect', TZ: '' },
        encoding: 'utf8',
      });
      assert.equal(status, 0);
      const [words = '', rest = ''] = stdout.split('\n\n');
      assert.deepEqual(words.split('\n'), [
        '/opt/it is/dist/src/cli/main.js',
        '--config',
        settings,
        'nightly',
        '--date',
        'a b',
      ]);
      const lines = rest.trim().split('\n');
      assert.ok(lines.includes('SGE_ROOT=/opt/s g e') && lines.includes('SGE_CELL=a"; echo x'), rest);
      assert.ok(!lines.some((line) => /^(?:NODE_OPTIONS|TZ)=/.test(line)), rest);
      assert.ok(Number(lines.at(-1)) >= 10, rest);

      writeFileSync(join(directory, 'nightly.toml'), '');
      const own = spawnSync(shell, ['-p', join(directory, 'nightly.sh')], { encoding: 'utf8' });
      assert.equal(own.stdout.split('\n')[2], join(directory, 'nightly.toml'));
    });
});

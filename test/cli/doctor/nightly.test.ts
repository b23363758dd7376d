import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkNightly } from '../../../src/cli/doctor/check-nightly';
import { ledgerDirectory, openLedger } from '../../../src/cli/nightly/ledger';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { NOBODY, notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';
import { mailSink } from '../mail/mail-sink';

const NOW = new Date(2026, 10, 21, 12);

interface Host {
  readonly settings: Settings;
  readonly done: (day: string) => void;
  readonly check: (changes?: Partial<Settings>, isRoot?: boolean) => Promise<string[]>;
  readonly directory: string;
}

function host(): Host {
  const directory = temporaryDirectory();
  mkdirSync(join(directory, 'cron'));
  writeFileSync(join(directory, 'cron', 'qmemacct-nightly'), '');
  const settings = {
    ...DEFAULT_SETTINGS,
    accounting: join(directory, 'accounting.db'),
    digest_dir: join(directory, 'digest'),
  };
  const places = { units: null, cron: join(directory, 'cron'), tmpfiles: null, commands: null };
  return {
    settings,
    done: (day) => {
      const ledger = openLedger(ledgerDirectory(settings), 'x', () => undefined);
      ledger.settle(day, { state: 'done', by: 'due', mailed: true, at: '', host: '' });
      ledger.close();
    },
    check: async (changes = {}, isRoot = true) => {
      const asking = {
        settings: { ...settings, ...changes },
        settingsPath: join(directory, 'qmemacct.toml'),
        prefix: '/opt/x',
        isRoot,
      };
      const findings = await checkNightly(asking, places, NOW);
      return findings.map(({ severity, name, says }) => `${severity} ${name}: ${says}`);
    },
    directory,
  };
}

describe('doctor on the nightly job', () => {
  it('finds nothing to say on a host without the nightly job', async () => {
    const places = { units: null, cron: temporaryDirectory(), tmpfiles: null, commands: null };
    const asking = {
      settings: { ...DEFAULT_SETTINGS, mail_admins: ['root'] },
      settingsPath: '/x.toml',
      prefix: '',
      isRoot: true,
    };
    assert.deepEqual(await checkNightly(asking, places, NOW), []);
  });

  it('names the newest night that is done, and warns where nights are missing', async () => {
    const { check, done } = host();
    assert.match((await check()).join(), /^warning nights: none is done in /);
    done('2026-11-10');
    assert.match(
      (await check()).join(),
      /^warning nights: the newest that is done is 2026-11-10; those older than a week/,
    );
    done('2026-11-18');
    assert.deepEqual(await check(), ['warning nights: the newest that is done is 2026-11-18']);
    done('2026-11-19');
    assert.deepEqual(await check(), ['ok nights: the newest that is done is 2026-11-19']);
    done('2026-11-20');
    assert.deepEqual(await check(), ['ok nights: the newest that is done is 2026-11-20']);
  });

  it('says what would keep mails from being sent', async (t) => {
    const { check, done } = host();
    done('2026-11-20');
    const sink = await mailSink(t, { disabledCommands: ['AUTH', 'STARTTLS'] });
    const mail = async (changes: Partial<Settings>): Promise<string> => (await check(changes))[1] ?? '';
    const server = { mail_admins: ['root'], mail_server: `smtp://127.0.0.1:${sink.port}` };
    assert.equal(await mail(server), `ok mail: by 127.0.0.1:${sink.port}, from qmemacct`);
    assert.deepEqual(sink.mails, []);
    assert.match(
      await mail({ ...server, mail_server: 'smtp://127.0.0.1:1' }),
      /^warning mail: smtp:\/\/127\.0\.0\.1:1: connect ECONNREFUSED .*; does the server run/,
    );
    assert.match(
      await mail({ ...server, mail_server: '/nonexistent/sendmail' }),
      /^warning mail: \/nonexistent\/sendmail: ENOENT.*; install a mail server on this host, or set mail_server/,
    );
    assert.match(await mail({ mail_admins: ['a b'] }), /^problem mail: mail_admins: "a b" is not an address/);
    const all = await check({ ...server, mail_owners: 'all' });
    assert.match(all[2] ?? '', /^warning digests: .*digest is missing: users can't say/);
  });

  it('reads nightly.toml where it exists, as the nightly job does', async () => {
    const { check, directory } = host();
    const own = join(directory, 'nightly.toml');
    writeFileSync(own, `accounting = "${directory}/other/accounting.db"\nmail_admins = ["a b"]\n`);
    const [nights = '', mail = ''] = await check();
    assert.match(nights, /^warning nights: none is done in \S+\/other\/nightly/);
    assert.match(mail, /^problem mail: mail_admins/);
    writeFileSync(own, 'mail_admins = 1\n');
    assert.match(String(await check()), /^problem configuration: .*nightly\.toml.*mail_admins/);
  });

  it('says to a user who may not read the ledger that the nights are not known', { skip: notRoot }, () => {
    const { done, directory, settings } = host();
    done('2026-11-20');
    chmodSync(directory, 0o755);
    const script = `
      process.setuid(${NOBODY});
      const { checkNightly } = require(process.argv[1]);
      const [settings, settingsPath, cron] = process.argv.slice(2);
      const asking = { settings: JSON.parse(settings), settingsPath, prefix: '', isRoot: false };
      checkNightly(asking, { units: null, cron }, new Date(${NOW.getTime()})).then((found) => console.log(JSON.stringify(found)));`;
    const words = [JSON.stringify(settings), join(directory, 'qmemacct.toml'), join(directory, 'cron')];
    const program = require.resolve('../../../src/cli/doctor/check-nightly');
    const { stdout, stderr } = spawnSync(process.execPath, ['-e', script, program, ...words], { encoding: 'utf8' });
    assert.match(stdout, /"severity":"note","says":"which are done is not known: .* is closed to this user"/, stderr);
  });
});

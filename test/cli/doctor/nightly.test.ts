import assert from 'node:assert/strict';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkNightly } from '../../../src/cli/doctor/check-nightly';
import { ledgerDirectory, openLedger } from '../../../src/cli/nightly/ledger';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';

const NOW = new Date(2026, 10, 21, 12);

interface Host {
  readonly settings: Settings;
  readonly done: (day: string) => void;
  readonly check: (changes?: Partial<Settings>) => string[];
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
    check: (changes = {}) =>
      checkNightly({ ...settings, ...changes }, true, places, NOW).map(
        ({ severity, name, says }) => `${severity} ${name}: ${says}`,
      ),
  };
}

describe('doctor on the nightly job', () => {
  it('says nothing on a host that has none', () => {
    const places = { units: null, cron: temporaryDirectory(), tmpfiles: null, commands: null };
    assert.deepEqual(checkNightly({ ...DEFAULT_SETTINGS, mail_admins: ['root'] }, true, places, NOW), []);
  });

  it('tells how late it is', () => {
    const { check, done } = host();
    assert.match(check().join(), /^warning nights: none is done in /);
    done('2026-11-10');
    assert.match(check().join(), /^warning nights: the newest that is done is 2026-11-10; those older than a week/);
    done('2026-11-18');
    assert.deepEqual(check(), ['warning nights: the newest that is done is 2026-11-18']);
    done('2026-11-19');
    assert.deepEqual(check(), ['ok nights: the newest that is done is 2026-11-19']);
    done('2026-11-20');
    assert.deepEqual(check(), ['ok nights: the newest that is done is 2026-11-20']);
  });

  it('tells what would keep mails from going', () => {
    const { check, done } = host();
    done('2026-11-20');
    const [, ...mail] = check({ mail_admins: ['root'], mail_server: 'smtp://mail.example.org' });
    assert.deepEqual(mail, ['ok mail: by mail.example.org:25, from qmemacct']);
    assert.match(check({ mail_admins: ['a b'] })[1] ?? '', /^problem mail: mail_admins: "a b" is not an address/);
    assert.match(check({ mail_owners: 'all' })[2] ?? '', /^warning digests: .*digest is missing: users can't say/);
  });
});

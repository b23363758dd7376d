import assert from 'node:assert/strict';
import { chmodSync, existsSync, mkdirSync, statSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { makeNightPlaces, nightPlaces } from '../../../src/cli/nightly/report-files';
import { DEFAULT_SETTINGS } from '../../../src/record/settings';
import { temporaryDirectory } from '../../support/temporary-directory';

const asRoot = { skip: process.getuid?.() !== 0 && 'needs root' };

describe('directories of the nightly job', () => {
  it('are made by root for their users, and keep a mode that was changed afterwards', asRoot, () => {
    const top = temporaryDirectory();
    const settings = {
      ...DEFAULT_SETTINGS,
      deliver_as: 'nobody',
      accounting: 'postgres://db/acct',
      accounting_mode: '0644',
      report_dir: '',
      state_dir: top,
      digest_dir: join(top, 'digest'),
    };
    makeNightPlaces(settings);
    const [digest, ledger] = [statSync(join(top, 'digest')), statSync(join(top, 'nightly'))];
    assert.deepEqual([digest.mode & 0o7777, digest.uid], [0o1777, 0]);
    assert.equal(ledger.mode & 0o7777, 0o700);
    assert.notEqual(ledger.uid, 0);
    chmodSync(join(top, 'digest'), 0o700);
    makeNightPlaces(settings);
    assert.equal(statSync(join(top, 'digest')).mode & 0o7777, 0o700);
  });

  it('let everybody read reports only where the accounting DB is readable by all', () => {
    const modes = (accounting_mode: string) =>
      nightPlaces({ ...DEFAULT_SETTINGS, deliver_as: 'root', accounting_mode }).map(({ mode }) => mode);
    assert.deepEqual(modes('0640'), [0o2750, 0o1777]);
    assert.deepEqual(modes('0644'), [0o2755, 0o1777]);
  });

  it('are not made below what is missing, no directory, or writable by everyone', asRoot, () => {
    const top = temporaryDirectory();
    mkdirSync(join(top, 'open'), { mode: 0o777 });
    chmodSync(join(top, 'open'), 0o777);
    writeFileSync(join(top, 'file'), '');
    for (const parent of ['open', 'file', 'missing']) {
      const digest_dir = join(top, parent, 'digest');
      const report_dir = join(top, parent, 'reports');
      makeNightPlaces({
        ...DEFAULT_SETTINGS,
        deliver_as: 'nobody',
        accounting: join(top, parent, 'a.db'),
        digest_dir,
        report_dir,
      });
      assert.ok(![digest_dir, report_dir, join(top, parent, 'nightly')].some((path) => existsSync(path)), parent);
    }
  });
});

import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { chmodSync, existsSync, mkdirSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import {
  ledgerDirectory,
  openLedger,
  readLedger,
  type MailName,
  type SettledNight,
} from '../../../src/cli/nightly/ledger';
import { temporaryDirectory } from '../../support/temporary-directory';

const DAY = '2026-11-20';
const mail: MailName = { kind: 'digest', to: 'alice' };
const settled: SettledNight = {
  state: 'done',
  by: 'due',
  mailed: true,
  at: '2026-11-21T03:00:00.000Z',
  host: 'login1',
};
const failOn = (line: string): void => assert.fail(line);

describe('the ledger', () => {
  it('lies beside a SQLite DB, else with the reports or in the state directory', () => {
    const places = { report_dir: '/srv/reports', state_dir: '/var/lib/qmemacct' };
    assert.equal(ledgerDirectory({ ...places, accounting: '/srv/acct/accounting.db' }), '/srv/acct/nightly');
    assert.equal(ledgerDirectory({ ...places, accounting: 'postgres://db/acct' }), '/srv/reports/nightly');
    assert.equal(
      ledgerDirectory({ ...places, report_dir: '', accounting: 'postgres://db/acct' }),
      '/var/lib/qmemacct/nightly',
    );
  });

  it('refuses a second nightly job while one has it open', () => {
    const directory = join(temporaryDirectory(), 'nightly');
    const first = openLedger(directory, 'login1 17 2026-11-21T03:00:00.000Z', failOn);
    assert.throws(
      () => openLedger(directory, 'login2 18 x', failOn),
      /another nightly job is running \(login1 17 2026/,
    );
    first.close();
    openLedger(directory, 'login2 18 x', failOn).close();
  });

  it('grants each mail only once, also across runs', () => {
    const directory = join(temporaryDirectory(), 'nightly');
    const ledger = openLedger(directory, 'a', failOn);
    assert.equal(ledger.stateOf(DAY, mail), 'open');
    assert.equal(ledger.claim(DAY, mail), 'mine');
    assert.equal(ledger.claim(DAY, mail), 'doubt');
    ledger.conclude(DAY, mail, 'sent', '');
    assert.equal(ledger.claim(DAY, mail), 'sent');
    assert.equal(ledger.claim(DAY, { kind: 'site', to: 'alice' }), 'mine');
    assert.equal(ledger.claim('2026-11-19', mail), 'mine');
    ledger.release('2026-11-19', mail);
    assert.equal(ledger.claim('2026-11-19', mail), 'mine');
    ledger.close();
    const again = openLedger(directory, 'b', failOn);
    assert.equal(again.claim(DAY, mail), 'sent');
    assert.equal(again.claim('2026-11-19', mail), 'doubt');
    again.close();
  });

  it('keeps nights, and forgets the mails of old nights that are settled', () => {
    const directory = join(temporaryDirectory(), 'nightly');
    const ledger = openLedger(directory, 'a', failOn);
    assert.deepEqual([ledger.night(DAY), ledger.begunBy(DAY)], [null, null]);
    ledger.claim(DAY, mail);
    ledger.claim('2026-11-19', mail);
    assert.deepEqual([ledger.night(DAY), ledger.begunBy(DAY)], [null, 'due']);
    ledger.begin('2026-11-18', 'date');
    assert.deepEqual([ledger.night('2026-11-18'), ledger.begunBy('2026-11-18')], [null, 'date']);
    ledger.begin('2026-11-18', 'due');
    ledger.settle('2026-11-18', { ...settled, by: 'date' });
    assert.equal(ledger.night('2026-11-18')?.by, 'due');
    ledger.settle(DAY, settled);
    assert.deepEqual(readLedger(directory).night(DAY), settled);
    ledger.forgetBefore(DAY);
    assert.equal(ledger.stateOf(DAY, mail), 'doubt');
    ledger.forgetBefore('2026-11-21');
    assert.equal(ledger.stateOf(DAY, mail), 'open');
    assert.equal(ledger.stateOf('2026-11-19', mail), 'doubt');
    assert.deepEqual(ledger.night(DAY), settled);
    ledger.close();
  });

  it('takes no torn or foreign file for a settled night', () => {
    const directory = temporaryDirectory();
    for (const text of ['', '{"state":"do', '[]', 'null', '{"state":"maybe"}']) {
      mkdirSync(join(directory, DAY), { recursive: true });
      writeFileSync(join(directory, DAY, 'night.json'), text);
      assert.equal(readLedger(directory).night(DAY), null, text);
    }
  });

  it('reports a full disk, grants no mail there, and stays locked', (t) => {
    const place = temporaryDirectory();
    if (spawnSync('mount', ['-t', 'tmpfs', '-o', 'size=64k,mode=700', 'tmpfs', place]).status !== 0) {
      t.skip("tmpfs can't be mounted here");
      return;
    }
    t.after(() => spawnSync('umount', ['-l', place]));
    const directory = join(place, 'nightly');
    openLedger(directory, 'a', failOn).close();
    const fill = join(place, 'fill');
    assert.throws(() => writeFileSync(fill, Buffer.alloc(1024 * 1024)), /ENOSPC/);
    const ledger = openLedger(directory, 'login1 17 x', failOn);
    assert.throws(() => openLedger(directory, 'b', failOn), /another nightly job is running/);
    const full = { name: 'CommandError', message: /^\S+\/nightly: its file system is full, .*; make room there$/ };
    assert.throws(() => ledger.begin(DAY, 'due'), full);
    assert.throws(() => ledger.settle(DAY, settled), full);
    assert.throws(() => ledger.claim(DAY, mail), full);
    assert.throws(() => ledger.conclude(DAY, mail, 'sent', ''), full);
    assert.equal(ledger.stateOf(DAY, mail), 'open');
    rmSync(fill);
    assert.equal(ledger.claim(DAY, mail), 'mine');
    ledger.close();
    assert.equal(spawnSync('mount', ['-o', 'remount,ro', place]).status, 0);
    const readOnly = { name: 'CommandError', message: /^\S+\/nightly: its file system is read-only; mount it / };
    assert.throws(() => openLedger(directory, 'a', failOn), readOnly);
  });

  it('says why it can’t be opened', () => {
    const directory = join(temporaryDirectory(), 'nightly');
    mkdirSync(join(directory, 'lock'), { recursive: true, mode: 0o700 });
    const reason = { name: 'CommandError', message: /\/nightly\/lock: can't be written: EISDIR/ };
    assert.throws(() => openLedger(directory, 'a', failOn), reason);
  });

  it('refuses a directory that others may write to, and one without a parent', () => {
    const directory = temporaryDirectory();
    chmodSync(directory, 0o777);
    assert.throws(() => openLedger(directory, 'a', failOn), /others may write to it.*chmod 700/);
    assert.deepEqual(readdirSync(directory), []);
    assert.throws(() => openLedger('/nonexistent/x/nightly', 'a', failOn), /\/nonexistent\/x is missing; mount it/);
    assert.ok(!existsSync('/nonexistent'));
  });
});

import assert from 'node:assert/strict';
import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { checkServices, checkTimers } from '../../../src/cli/doctor/check-timers';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeSystemd } from '../install/fake-systemd';

it('doctor warns of an installed timer that is not active, and names its fix', (t) => {
  const { units, stop } = fakeSystemd(t);
  const places = { units, cron: null, tmpfiles: null, commands: null };
  const found = (): readonly string[] => checkTimers(places).map(({ severity, name }) => `${severity} ${name}`);
  assert.deepEqual(found(), []);
  for (const name of ['flush', 'nightly']) writeFileSync(join(units, `qmemacct-${name}.timer`), '');
  assert.deepEqual(found(), ['ok qmemacct-flush', 'ok qmemacct-nightly']);
  stop();
  assert.deepEqual(found(), ['warning qmemacct-flush', 'warning qmemacct-nightly']);
  assert.equal(checkTimers(places)[0]?.fix, 'systemctl enable --now qmemacct-flush.timer');
});

it('doctor accepts a cron table in place of a timer, if cron runs', () => {
  const cron = temporaryDirectory();
  const proc = temporaryDirectory();
  const found = (): readonly string[] =>
    checkTimers({ units: null, cron, tmpfiles: null, commands: null }, proc).map(
      ({ severity, name }) => `${severity} ${name}`,
    );
  assert.deepEqual(found(), []);
  writeFileSync(join(cron, 'qmemacct-flush'), '');
  assert.deepEqual(found(), ['warning cron']);
  mkdirSync(join(proc, '7'));
  writeFileSync(join(proc, '7', 'comm'), 'crond\n');
  assert.deepEqual(found(), ['ok qmemacct-flush']);
});

it('doctor warns of services that the installation set up and somebody removed', () => {
  const cron = temporaryDirectory();
  const places = { units: null, cron, tmpfiles: null, commands: null };
  const stamp = { prefix: '/opt/x', version: '1', tested_at: '', ok: true, problems: [], host: 'n1' };
  const services = ['qmemacct-flush', 'qmemacct-nightly'];
  for (const name of services) writeFileSync(join(cron, name), '');
  const found = (installed: readonly string[] | null): readonly (string | null)[][] =>
    checkServices({ stamp: installed && { ...stamp, services: installed } }, places).map(({ severity, name, fix }) => [
      severity,
      name,
      fix,
    ]);
  assert.deepEqual(found(services), []);
  for (const name of services) rmSync(join(cron, name));
  assert.deepEqual(found(services), [
    ['warning', 'qmemacct-flush', 'run "qmemacct install --node"'],
    [
      'warning',
      'qmemacct-nightly',
      'run "qmemacct install --node --nightly", or without --nightly where it is not to run here any more',
    ],
  ]);
  // Installed with --no-timer, and not at all.
  assert.deepEqual([found([]), found(null)], [[], []]);
});

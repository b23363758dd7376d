import assert from 'node:assert/strict';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { it } from 'node:test';
import { checkTimers } from '../../../src/cli/doctor/check-timers';
import { temporaryDirectory } from '../../support/temporary-directory';
import { fakeSystemd } from '../install/fake-systemd';

it('warns of an installed timer that is not active, and names its fix', (t) => {
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

it('takes a cron table for a timer', () => {
  const cron = temporaryDirectory();
  writeFileSync(join(cron, 'qmemacct-flush'), '');
  const found = checkTimers({ units: null, cron, tmpfiles: null, commands: null });
  assert.deepEqual(
    found.map(({ severity, name }) => `${severity} ${name}`),
    ['ok qmemacct-flush'],
  );
});

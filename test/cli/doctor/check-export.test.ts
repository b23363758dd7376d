import assert from 'node:assert/strict';
import { join } from 'node:path';
import { it } from 'node:test';
import { checkExport } from '../../../src/cli/doctor/check-export';
import { Spool } from '../../../src/export/push/spool';
import { httpServer, point, alwaysAnswers, sinkSettings } from '../../export/push/servers';
import { temporaryDirectory } from '../../support/temporary-directory';

it('doctor says of each export sink whether it answers, and what waits for it', async (t) => {
  const [good, bad] = [await httpServer(t, alwaysAnswers(204)), await httpServer(t, alwaysAnswers(401))];
  const address = (port: number): string => `http://127.0.0.1:${port}/write`;
  const settings = sinkSettings(
    [
      { kind: 'influx', address: address(good.port), what: 'node' },
      { kind: 'otlp', address: address(bad.port), what: 'node' },
      { kind: 'graphite', address: 'tcp://127.0.0.1:1', what: 'node' },
    ],
    { export_dir: temporaryDirectory() },
  );
  const spool = new Spool(join(settings.export_dir, 'otlp'), 2 ** 20);
  spool.add([point()]);
  spool.update({ refused: 1234 });
  const lines = (await checkExport(settings)).map(({ severity, name, says: text }) => `${severity} ${name}: ${text}`);
  assert.equal(lines.length, 3);
  assert.equal(lines[0], `ok influx: influx at ${address(good.port)} answers`);
  assert.match(
    lines[1] ?? '',
    /^warning otlp: .* status 401: it rejects the user or token.*, 1 rounds wait, 1,234 values/,
  );
  assert.match(lines[2] ?? '', /^warning graphite: graphite at tcp:.*ECONNREFUSED/);
  assert.equal(good.asked.length, 1);
  assert.equal(good.asked[0]?.body, '');
});

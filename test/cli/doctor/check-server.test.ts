import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { chmodSync, chownSync, mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkServer } from '../../../src/cli/doctor/check-server';
import type { Finding } from '../../../src/cli/doctor/finding';
import type { SystemPlaces } from '../../../src/cli/install/places';
import { DEFAULT_SETTINGS, type Settings } from '../../../src/record/settings';
import { NOBODY, notRoot } from '../../support/qmemacct';
import { temporaryDirectory } from '../../support/temporary-directory';

function host(): { readonly socket: string; readonly places: SystemPlaces; readonly install: () => void } {
  const top = temporaryDirectory();
  const cron = join(top, 'cron.d');
  mkdirSync(cron);
  return {
    socket: join(top, 'socket'),
    places: { units: null, cron, tmpfiles: null, commands: null },
    install: () => writeFileSync(join(cron, 'qmemacct-serve'), ''),
  };
}

const look = (settings: Partial<Settings>, places: SystemPlaces, settingsPath = '/nonexistent'): Promise<Finding[]> =>
  checkServer({ settings: { ...DEFAULT_SETTINGS, ...settings }, settingsPath, isRoot: true }, places);

describe('checkServer', () => {
  it('finds nothing to say where no server is set up', async () => {
    const { socket, places } = host();
    assert.deepEqual(await look({ serve_socket: socket }, places), []);
  });

  it('reports a server that is down, whether it was installed or started by hand', async () => {
    const { socket, places, install } = host();
    install();
    const [down] = await look({ serve_socket: socket }, places);
    assert.deepEqual(
      [down?.severity, down?.says.startsWith(`none answers at ${socket}: users see`)],
      ['problem', true],
    );
    const byHand = host();
    writeFileSync(byHand.socket, '');
    const [left] = await look({ serve_socket: byHand.socket }, byHand.places);
    assert.equal(left?.severity, 'problem');
  });

  it('shows the problem that a running server has with the accounting DB', async (t) => {
    const { socket, places } = host();
    let problem: string | null = null;
    const server = createHttpServer((_request, response) => {
      const live = { at: null, ageSeconds: null, problems: [] };
      const health = { status: 'ok', version: '1.2.3', startedAt: 0, live, accounting: { problem } };
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(health));
    }).listen(socket);
    t.after(() => server.close());
    await once(server, 'listening');
    const says = async (): Promise<unknown> =>
      (await look({ serve_socket: socket }, places)).map(({ severity, says }) => [severity, says]);
    assert.deepEqual(await says(), [['ok', `it answers at ${socket}`]]);
    const settingsPath = join(temporaryDirectory(), 'qmemacct.toml');
    writeFileSync(settingsPath, '');
    const [, older] = await look({ serve_socket: socket }, places, settingsPath);
    assert.deepEqual(
      [older?.severity, older?.says.startsWith(`it is older than the last change of ${settingsPath}`)],
      ['note', true],
    );
    problem = 'the DB is damaged';
    assert.deepEqual(await says(), [['warning', `at ${socket}: the DB is damaged`]]);
  });

  it("warns of tokens that are missing, not the server's user's, or open to others", { skip: notRoot }, async () => {
    const { socket, places, install } = host();
    install();
    const path = join(temporaryDirectory(), 'tokens');
    const tokens = async (): Promise<unknown> => {
      const found = await look({ serve_socket: socket, serve_tokens: path, deliver_as: 'nobody' }, places);
      return found.filter(({ name }) => name === 'tokens').map(({ severity, says, fix }) => [severity, says, fix]);
    };
    assert.match(String(await tokens()), /^warning,.*tokens can't be looked at: ENOENT/);
    writeFileSync(path, '', { mode: 0o600 });
    const fix = `chown nobody ${path}; chmod 600 ${path}`;
    const says = `${path} belongs to uid 0, not to uid ${NOBODY}, as whom the server runs: no token is accepted`;
    assert.deepEqual(await tokens(), [['warning', says, fix]]);
    chownSync(path, NOBODY, NOBODY);
    assert.deepEqual(await tokens(), [['ok', path, null]]);
    chmodSync(path, 0o640);
    assert.deepEqual(await tokens(), [['warning', `${path} can be used by others: no token is accepted`, fix]]);
  });
});

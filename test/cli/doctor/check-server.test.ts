import assert from 'node:assert/strict';
import { createServer as createHttpServer } from 'node:http';
import { once } from 'node:events';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { checkServer } from '../../../src/cli/doctor/check-server';
import type { SystemPlaces } from '../../../src/cli/install/places';
import { temporaryDirectory } from '../../support/temporary-directory';

function host(): { readonly socket: string; readonly places: SystemPlaces; readonly installed: () => void } {
  const top = temporaryDirectory();
  const cron = join(top, 'cron.d');
  mkdirSync(cron);
  return {
    socket: join(top, 'socket'),
    places: { units: null, cron, tmpfiles: null, commands: null },
    installed: () => writeFileSync(join(cron, 'qmemacct-serve'), ''),
  };
}

describe('checkServer', () => {
  it('says nothing where no server is to run', async () => {
    const { socket, places } = host();
    assert.deepEqual(await checkServer({ serve_socket: socket }, places), []);
  });

  it('finds a server that is down, installed or started by hand', async () => {
    const { socket, places, installed } = host();
    installed();
    const [down] = await checkServer({ serve_socket: socket }, places);
    assert.deepEqual(
      [down?.severity, down?.says.startsWith(`none answers at ${socket}: users see`)],
      ['problem', true],
    );
    const byHand = host();
    writeFileSync(byHand.socket, '');
    const [left] = await checkServer({ serve_socket: byHand.socket }, byHand.places);
    assert.equal(left?.severity, 'problem');
  });

  it('says what is wrong with one that answers', async (t) => {
    const { socket, places } = host();
    let problem: string | null = null;
    const server = createHttpServer((_request, response) => {
      const live = { at: null, ageSeconds: null, problems: [] };
      const health = { status: 'ok', version: '1.2.3', startedAt: 0, live, accounting: { problem } };
      response.setHeader('Content-Type', 'application/json').end(JSON.stringify(health));
    }).listen(socket);
    t.after(() => server.close());
    await once(server, 'listening');
    const look = async (): Promise<unknown> =>
      (await checkServer({ serve_socket: socket }, places)).map(({ severity, says }) => [severity, says]);
    assert.deepEqual(await look(), [['ok', `it answers at ${socket}`]]);
    problem = 'the DB is damaged';
    assert.deepEqual(await look(), [['warning', `at ${socket}: the DB is damaged`]]);
  });
});

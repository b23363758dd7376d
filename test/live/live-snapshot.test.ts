import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, symlinkSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { liveSnapshot, type LiveOptions } from '../../src/live/live-snapshot';
import { snapshotToJson } from '../../src/live/snapshot-json';
import { DEFAULT_SETTINGS } from '../../src/record/settings';
import { temporaryDirectory } from '../support/temporary-directory';
import { fakeQmaster, healthy, type FakeQmaster } from './fake-qmaster';
import { anEmptySnapshot, serveOnSocket } from './snapshot-server';

function options(socket: string, fake: FakeQmaster, more: Partial<LiveOptions> = {}): LiveOptions {
  return {
    settings: { ...DEFAULT_SETTINGS, serve_socket: socket },
    env: { HOME: temporaryDirectory() },
    cell: () => ({
      cell: null,
      cluster: 'own',
      // Longer than the test pauses between two commands.
      rules: { intervalMs: 3_600_000, usageIntervalMs: 4 * 3_600_000 },
      tools: { ...fake.tools, now: Date.now },
    }),
    pending: false,
    ...more,
  };
}

function aCell(): string {
  const directory = join(temporaryDirectory(), 'cell');
  mkdirSync(join(directory, 'common'), { recursive: true });
  writeFileSync(join(directory, 'common', 'bootstrap'), '');
  return directory;
}

const nowhere = (): string => join(temporaryDirectory(), 'none.sock');

describe('the snapshot of a live command', () => {
  it("comes from the site's server where there is one, without a query to qmaster", async (t) => {
    const fake = fakeQmaster(healthy(() => []));
    const socket = await serveOnSocket(t, (_, response) => response.end(snapshotToJson(anEmptySnapshot('site'))));
    const noCell = (): never => assert.fail('looked for a cell');
    const live = await liveSnapshot(options(socket, fake, { cell: noCell }));
    assert.deepEqual(live, { snapshot: anEmptySnapshot('site'), source: 'server', warning: null });
    assert.deepEqual(fake.asked, []);
  });

  it('is not taken from the server of another cell than the environment names', async (t) => {
    const [a, b] = [aCell(), aCell()];
    const answer = snapshotToJson({ ...anEmptySnapshot('site'), cell: a });
    const socket = await serveOnSocket(t, (_, response) => response.end(answer));
    const sourceIn = async (env: NodeJS.ProcessEnv): Promise<string> => {
      const given = { env: { HOME: temporaryDirectory(), ...env } };
      return (await liveSnapshot(options(socket, fakeQmaster(healthy(() => [])), given))).source;
    };
    const sourceFor = (directory: string): Promise<string> =>
      sourceIn({ SGE_ROOT: dirname(directory), SGE_CELL: basename(directory) });
    const link = join(temporaryDirectory(), 'link');
    symlinkSync(a, link);
    assert.deepEqual([await sourceFor(a), await sourceFor(link), await sourceFor(b)], ['server', 'server', 'shared']);
    symlinkSync(b, join(dirname(a), 'sibling'));
    assert.equal(await sourceIn({ SGE_CELL: 'sibling' }), 'shared');
  });

  it('waits for the server to learn of waiting jobs, for a limited time', async (t) => {
    const fake = fakeQmaster(healthy(() => []));
    let answers = 0;
    const socket = await serveOnSocket(t, (_, response) => {
      answers++;
      const snapshot = anEmptySnapshot('site');
      response.end(snapshotToJson(answers < 3 ? snapshot : { ...snapshot, pending: snapshot.running }));
    });
    const { snapshot } = await liveSnapshot(options(socket, fake, { pending: true }));
    assert.deepEqual(snapshot.pending, snapshot.running);
    assert.equal(answers, 3);
    const never = await serveOnSocket(t, (_, response) => response.end(snapshotToJson(anEmptySnapshot('site'))));
    assert.equal((await liveSnapshot(options(never, fake, { pending: true }))).snapshot.pending, null);
  });

  it("is shared by the user's commands where there is no server", async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    const given = options(nowhere(), fake);
    const first = await liveSnapshot(given);
    assert.deepEqual([first.source, first.warning, first.snapshot.cluster], ['shared', null, 'own']);
    assert.deepEqual(await liveSnapshot(given), first);
    assert.equal(fake.asked.length, 3);
  });

  it("is made without the server if the server's answer is wrong, with a warning", async (t) => {
    const fake = fakeQmaster(healthy(() => []));
    const socket = await serveOnSocket(t, (_, response) => response.end('{}'));
    const { source, warning } = await liveSnapshot(options(socket, fake));
    assert.equal(source, 'shared');
    assert.match(warning ?? '', /^qmemacct serve gave no answer \(.*version is not a number[^)]*\); qmaster is asked$/);
  });

  it("is the command's own, with a warning, where nothing can be shared", async () => {
    const fake = fakeQmaster(healthy(() => [1]));
    const home = temporaryDirectory();
    chmodSync(home, 0o777);
    const { snapshot, source, warning } = await liveSnapshot(options(nowhere(), fake, { env: { HOME: home } }));
    assert.equal(source, 'own');
    assert.match(warning ?? '', /can't be shared with other commands \(.*others may write in it\)/);
    assert.equal(snapshot.running.value.length, 1);
  });

  it('is abandoned when the caller aborts', async (t) => {
    const fake = fakeQmaster(healthy(() => []));
    const silent = await serveOnSocket(t, () => undefined);
    const given = options(silent, fake, { signal: AbortSignal.timeout(50) });
    await assert.rejects(liveSnapshot(given), { name: 'TimeoutError' });
    assert.deepEqual(fake.asked, []);
  });
});

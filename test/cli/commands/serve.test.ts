import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import {
  appendFileSync,
  chownSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer, type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { openSqliteStore } from '../../../src/accounting/sqlite/sqlite-store';
import { listenAt } from '../../../src/server/http/listen';
import { ask } from '../../server/test-site';
import { COMMAND, startServing, type Serving, NOBODY, notRoot, qmemacct } from '../../support/qmemacct';
import { killedAtLimit, ordinary } from '../../report/sample-records';
import { temporaryDirectory } from '../../support/temporary-directory';
import { until } from '../../support/until';

interface Place {
  readonly directory: string;
  readonly config: string;
  readonly socket: string;
  readonly database: string;
}

/** A site whose accounting DB is for its owner alone. */
async function newPlace(more = ''): Promise<Place> {
  const directory = temporaryDirectory(0o755);
  mkdirSync(join(directory, 'accounting'), { mode: 0o755 });
  const place = {
    directory,
    config: join(directory, 'qmemacct.toml'),
    socket: join(directory, 'run', 'serve.sock'),
    database: join(directory, 'accounting', 'accounting.db'),
  };
  const lines = [
    `accounting = "${place.database}"`,
    `run_dir = "${directory}/none"`,
    `serve_socket = "${place.socket}"`,
    'serve_port = 0',
    'cluster = "biology"',
    more,
  ];
  writeFileSync(place.config, lines.join('\n'));
  const store = openSqliteStore(place.database, 0o600);
  await store.merge([ordinary, { ...killedAtLimit, owner: 'nobody' }]);
  await store.close();
  return place;
}

const serving = (t: TestContext, { config }: Place): Promise<Serving> => startServing(t, config);

type Run = ReturnType<typeof qmemacct>;

function asNobody(place: Place, ...words: readonly string[]): Run {
  return asNobodyAt('/nonexistent', place, ...words);
}

function asNobodyAt(home: string, place: Place, ...words: readonly string[]): Run {
  return qmemacct(['--config', place.config, ...words], { uid: NOBODY, env: { HOME: home } });
}

interface Shown {
  readonly records: readonly { readonly job_id: number; readonly owner: string | null }[];
}

const shown = ({ status, stdout, stderr }: Run): readonly (readonly [number, string | null])[] => {
  assert.equal(status, 0, stderr);
  return (JSON.parse(stdout) as Shown).records.map(({ job_id: job, owner }) => [job, owner] as const);
};

describe('qmemacct serve', () => {
  it('serves until it is told to end, and takes its socket along', async (t) => {
    const place = await newPlace();
    const { child, said } = await serving(t, place);
    const { status } = await ask({ socketPath: place.socket }, { path: '/v1/job/4711' });
    assert.equal(status, 200);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 0, said());
    assert.equal(existsSync(place.socket), false);
  });

  it('can be killed and started again', async (t) => {
    const place = await newPlace();
    const { child } = await serving(t, place);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.equal(existsSync(place.socket), true);
    await serving(t, place);
    assert.equal((await ask({ socketPath: place.socket }, { path: '/qhost' })).status, 200);
  });

  it('answers at its socket while another program has its port, which it then takes', async (t) => {
    const place = await newPlace();
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    appendFileSync(place.config, `\nserve_url = "http://127.0.0.1:${port}"`);
    const { said } = await startServing(t, place.config, ['--port', String(port)]);
    const asked = async (path: string): Promise<number> => (await ask({ socketPath: place.socket }, { path })).status;
    assert.equal(await asked('/v1/job/4711'), 200, said());
    // No link that leads to the other program.
    assert.equal(await asked('/v1/sign-in-link'), 503);
    assert.match(said(), /another program has this port; .*trying again/);
    other.close();
    await until(() => said().includes(`serves 127.0.0.1:${port}, too`), said);
    assert.equal((await ask({ port }, { path: '/v1/health' })).status, 200);
    assert.equal(await asked('/v1/sign-in-link'), 200);
  });

  it('says in a line why it can not listen (status 3), or what makes no sense (status 2)', async (t) => {
    const place = await newPlace();
    await serving(t, place);
    const again = (...words: readonly string[]): Run => qmemacct(['--config', place.config, 'serve', ...words]);
    const cases: readonly (readonly [words: readonly string[], status: number, said: RegExp])[] = [
      [[], 3, /^qmemacct: can't listen on .*serve\.sock: another server answers there; stop it, or give --socket\n$/],
      [['--socket', 'none', '--port', '70000'], 2, /^qmemacct: --port: "70000" is not a port; write 0 to 65535\n$/],
      [['--socket', 'none'], 2, /neither a port nor a socket/],
      [['--socket', 'none', '--port', '18999', '--address', '192.0.2.1'], 3, /this host has no such address/],
    ];
    for (const [words, status, said] of cases) {
      const run = again(...words);
      assert.equal(run.status, status, run.stderr);
      // It asks Grid Engine meanwhile, whose answer may come first.
      assert.match(run.stderr.replace(/^qmemacct: Grid Engine: .*\n/, ''), said);
    }
  });

  it('takes the socket that systemd has opened', async (t) => {
    const place = await newPlace('serve_names = "own"');
    const opened = createServer();
    const first = join(place.directory, 'first.sock');
    const path = join(place.directory, 'systemd.sock');
    await listenAt(opened, { kind: 'socket', path: first });
    // Closed by us, it would be removed by its first name.
    renameSync(first, path);
    const { fd } = (opened as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"';
    const child = spawn('/bin/sh', ['-c', script, 'sh', process.execPath, COMMAND, '--config', place.config, 'serve'], {
      stdio: ['ignore', 'inherit', 'pipe', fd],
    });
    t.after(() => child.kill('SIGKILL'));
    let said = '';
    child.stderr?.on('data', (piece: Buffer) => (said += piece.toString()));
    await until(() => {
      assert.equal(child.exitCode, null, said);
      return said.includes('serves descriptor 3\n');
    });
    opened.close();
    const got = await ask({ socketPath: path }, { path: '/v1/job/4711' });
    assert.equal(got.status, process.getuid?.() === 0 ? 200 : 404);
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(existsSync(path), true);
  });
});

describe('an ordinary user, where the accounting DB is for others', { skip: notRoot }, () => {
  it('sees it by the server', async (t) => {
    const place = await newPlace();
    await serving(t, place);
    assert.deepEqual(shown(asNobody(place, 'job', '4711', '--json')), [[4711, 'bob']]);
    assert.deepEqual(
      shown(asNobody(place, 'owner', 'bob', '--since', '2026-11-01', '--until', '2026-12-01', '--json')),
      [[4711, 'bob']],
    );
    const text = asNobody(place, 'job', '4711');
    assert.match(text.stdout, /align_reads/);
    assert.equal(text.stderr, '');
    const unknown = asNobody(place, 'job', '99');
    assert.equal(unknown.status, 3, 'no Grid Engine can be asked whether it waits');
    assert.match(unknown.stderr, /nothing known in .*accounting\.db by "qmemacct serve" at .*serve\.sock/);
  });

  it('sees it by the server where the file is not on this host', async (t) => {
    const place = await newPlace();
    await serving(t, place);
    const config = join(place.directory, 'login.toml');
    writeFileSync(config, `accounting = "${place.directory}/elsewhere.db"\nserve_socket = "${place.socket}"\n`);
    assert.deepEqual(shown(asNobody({ ...place, config }, 'job', '4711', '--json')), [[4711, 'bob']]);
  });

  it('sees of others what the site shows, by the uid that the kernel tells', async (t) => {
    const place = await newPlace('serve_names = "own"');
    await serving(t, place);
    assert.deepEqual(shown(asNobody(place, 'job', '4712', '--json')), [[4712, 'nobody']]);
    assert.equal(asNobody(place, 'job', '4711', '--json').status, 3);
    const stranger = asNobody(place, 'owner', 'bob');
    assert.equal(stranger.status, 3);
    assert.match(stranger.stderr, /the server at .*: this site shows you your own jobs only/);
  });

  it('is shown what the configuration says since it has changed, without a restart', async (t) => {
    const place = await newPlace('visibility = "own"');
    const { said } = await serving(t, place);
    const status = (): number | null => asNobody(place, 'job', '4711', '--json').status;
    assert.equal(status(), 3);
    const text = readFileSync(place.config, 'utf8');
    writeFileSync(place.config, text.replace('"own"', '"all"'));
    await until(() => status() === 0, said);
    writeFileSync(place.config, text);
    await until(() => status() === 3, said);
  });

  it('gets status 3 where the server is down, also where there is something of the user’s own', async (t) => {
    const place = await newPlace();
    const home = join(place.directory, 'home');
    const own = join(home, '.local', 'state', 'qmemacct');
    mkdirSync(own, { recursive: true });
    const store = openSqliteStore(join(own, 'accounting.db'), 0o600);
    await store.merge([{ ...ordinary, job_id: 1, owner: 'nobody' }]);
    await store.close();
    for (const file of readdirSync(own)) chownSync(join(own, file), NOBODY, NOBODY);
    chownSync(own, NOBODY, NOBODY);
    const { child } = await serving(t, place);
    const commands = [
      ['owner', 'eve'],
      ['top', 'owners', '--owner', 'eve'],
      ['report', '--owner', 'eve'],
    ];
    for (const words of commands) assert.equal(asNobodyAt(home, place, ...words).status, 1, words.join(' '));
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const words of commands) {
      const { status, stderr } = asNobodyAt(home, place, ...words);
      assert.equal(status, 3, words.join(' '));
      assert.match(stderr, /"qmemacct serve" at .* does not answer for it: it does not run/);
    }
    assert.equal(asNobodyAt(home, place, 'job', '1').status, 0);
  });

  it('is told what was tried', async (t) => {
    const place = await newPlace();
    const alone = asNobody(place, 'job', '4711');
    assert.equal(alone.status, 3);
    assert.match(
      alone.stderr,
      /^qmemacct: the site's accounting DB .* can't be read: user "nobody" may not .*; no "qmemacct serve" at .*serve\.sock answers for it\n$/,
    );
    const { child } = await serving(t, place);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.match(
      asNobody(place, 'job', '4711').stderr,
      /"qmemacct serve" at .* does not answer for it: it does not run\n$/,
    );
    chownSync(place.database, 1, 1);
    rmSync(place.database);
    await serving(t, place);
    // The server has looked for its DB.
    while (!(await ask({ socketPath: place.socket }, { path: '/v1/health' })).text.includes('does not exist'));
    const missing = asNobody(place, 'owner', 'bob');
    assert.equal(missing.status, 3);
    assert.match(
      missing.stderr,
      /accounting\.db is not on this host; "qmemacct serve" at .* can't read it: .*does not exist/,
    );
  });
});

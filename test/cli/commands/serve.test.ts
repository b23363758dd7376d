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

interface Site {
  readonly directory: string;
  readonly config: string;
  readonly socket: string;
  readonly database: string;
}

/** A site whose accounting DB only its owner may read. */
async function newSite(more = ''): Promise<Site> {
  const directory = temporaryDirectory(0o755);
  mkdirSync(join(directory, 'accounting'), { mode: 0o755 });
  const site = {
    directory,
    config: join(directory, 'qmemacct.toml'),
    socket: join(directory, 'run', 'serve.sock'),
    database: join(directory, 'accounting', 'accounting.db'),
  };
  const lines = [
    `accounting = "${site.database}"`,
    `run_dir = "${directory}/none"`,
    `serve_socket = "${site.socket}"`,
    'serve_port = 0',
    'cluster = "biology"',
    more,
  ];
  writeFileSync(site.config, lines.join('\n'));
  const store = openSqliteStore(site.database, 0o600);
  await store.merge([ordinary, { ...killedAtLimit, owner: 'nobody' }]);
  await store.close();
  return site;
}

/** A server whose accounting DB answers: on a busy machine that may take longer than the server waits for an answer. */
async function startServer(t: TestContext, { config, socket }: Site): Promise<Serving> {
  const serving = await startServing(t, config);
  await until(async () => (await ask({ socketPath: socket }, { path: '/v1/job/4711' })).status !== 503, serving.said);
  return serving;
}

type Run = ReturnType<typeof qmemacct>;

function asNobody(site: Site, ...words: readonly string[]): Run {
  return asNobodyAt('/nonexistent', site, ...words);
}

function asNobodyAt(home: string, site: Site, ...words: readonly string[]): Run {
  return qmemacct(['--config', site.config, ...words], { uid: NOBODY, env: { HOME: home } });
}

interface Shown {
  readonly records: readonly { readonly job_id: number; readonly owner: string | null }[];
}

const jobsOf = ({ status, stdout, stderr }: Run): readonly (readonly [number, string | null])[] => {
  assert.equal(status, 0, stderr);
  return (JSON.parse(stdout) as Shown).records.map(({ job_id: job, owner }) => [job, owner] as const);
};

describe('qmemacct serve', () => {
  it('starts where a killed server has left its socket, answers until SIGTERM, and removes the socket', async (t) => {
    const site = await newSite();
    const statusOf = async (path: string): Promise<number> => (await ask({ socketPath: site.socket }, { path })).status;
    const killed = await startServer(t, site);
    assert.equal(await statusOf('/v1/job/4711'), 200, killed.said());
    killed.child.kill('SIGKILL');
    await once(killed.child, 'exit');
    assert.equal(existsSync(site.socket), true);
    const { child, said } = await startServer(t, site);
    assert.equal(await statusOf('/qhost'), 200);
    child.kill('SIGTERM');
    const [code] = (await once(child, 'exit')) as [number | null];
    assert.equal(code, 0, said());
    assert.equal(existsSync(site.socket), false);
  });

  it('answers at its socket while another program has its port, and takes the port once it is free', async (t) => {
    const site = await newSite();
    const other = createServer().listen(0, '127.0.0.1');
    t.after(() => other.close());
    await once(other, 'listening');
    const { port } = other.address() as AddressInfo;
    appendFileSync(site.config, `\nserve_url = "http://127.0.0.1:${port}"`);
    const { said } = await startServing(t, site.config, ['--port', String(port)]);
    const statusOf = async (path: string): Promise<number> => (await ask({ socketPath: site.socket }, { path })).status;
    await until(async () => (await statusOf('/v1/job/4711')) === 200, said);
    // No link that leads to the other program.
    assert.equal(await statusOf('/v1/sign-in-link'), 503);
    assert.match(said(), /another program has this port; .*trying again/);
    other.close();
    await until(() => said().includes(`serves 127.0.0.1:${port}, too`), said);
    assert.equal((await ask({ port }, { path: '/v1/health' })).status, 200);
    assert.equal(await statusOf('/v1/sign-in-link'), 200);
  });

  it("says in one line why it can't listen (status 3), or which option is wrong (status 2)", async (t) => {
    const site = await newSite();
    await startServer(t, site);
    const serveAgain = (...words: readonly string[]): Run => qmemacct(['--config', site.config, 'serve', ...words]);
    const cases: readonly (readonly [words: readonly string[], status: number, said: RegExp])[] = [
      [[], 3, /^qmemacct: can't listen on .*serve\.sock: another server answers there; stop it, or give --socket\n$/],
      [['--socket', 'none', '--port', '70000'], 2, /^qmemacct: --port: "70000" is not a port; write 0 to 65535\n$/],
      [['--socket', 'none'], 2, /neither a port nor a socket/],
      [['--socket', 'none', '--port', '18999', '--address', '192.0.2.1'], 3, /this host has no such address/],
    ];
    for (const [words, status, said] of cases) {
      const run = serveAgain(...words);
      assert.equal(run.status, status, run.stderr);
      // The server asks Grid Engine and its accounting DB meanwhile, and may warn of these first.
      assert.match(run.stderr.replace(/^qmemacct: (?:Grid Engine|slow): .*\n/gm, ''), said);
    }
  });

  it('serves a socket that systemd has opened, and leaves it there at its end', async (t) => {
    const site = await newSite('serve_names = "own"');
    const opened = createServer();
    const first = join(site.directory, 'first.sock');
    const path = join(site.directory, 'systemd.sock');
    await listenAt(opened, { kind: 'socket', path: first });
    // Node removes a socket that it closes by the name it had when it was opened.
    renameSync(first, path);
    const { fd } = (opened as unknown as { readonly _handle: { readonly fd: number } })._handle;
    const script = 'LISTEN_PID=$$ LISTEN_FDS=1 exec "$@"';
    const child = spawn('/bin/sh', ['-c', script, 'sh', process.execPath, COMMAND, '--config', site.config, 'serve'], {
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
    const expected = process.getuid?.() === 0 ? 200 : 404;
    await until(
      async () => (await ask({ socketPath: path }, { path: '/v1/job/4711' })).status === expected,
      () => said,
    );
    child.kill('SIGTERM');
    await once(child, 'exit');
    assert.equal(existsSync(path), true);
  });
});

describe("an ordinary user who can't read the accounting DB", { skip: notRoot }, () => {
  it('sees records through the server, also where the file is not on this host', async (t) => {
    const site = await newSite();
    await startServer(t, site);
    assert.deepEqual(jobsOf(asNobody(site, 'job', '4711', '--json')), [[4711, 'bob']]);
    assert.deepEqual(
      jobsOf(asNobody(site, 'owner', 'bob', '--since', '2026-11-01', '--until', '2026-12-01', '--json')),
      [[4711, 'bob']],
    );
    const text = asNobody(site, 'job', '4711');
    assert.match(text.stdout, /align_reads/);
    assert.equal(text.stderr, '');
    const unknown = asNobody(site, 'job', '99');
    assert.equal(unknown.status, 3, 'no Grid Engine can be asked whether it waits');
    assert.match(unknown.stderr, /nothing known in .*accounting\.db by "qmemacct serve" at .*serve\.sock/);
    const config = join(site.directory, 'login.toml');
    writeFileSync(config, `accounting = "${site.directory}/elsewhere.db"\nserve_socket = "${site.socket}"\n`);
    assert.deepEqual(jobsOf(asNobody({ ...site, config }, 'job', '4711', '--json')), [[4711, 'bob']]);
  });

  it('sees only jobs of the uid that the kernel reports, where the site shows each user their own', async (t) => {
    const site = await newSite('serve_names = "own"');
    await startServer(t, site);
    assert.deepEqual(jobsOf(asNobody(site, 'job', '4712', '--json')), [[4712, 'nobody']]);
    assert.equal(asNobody(site, 'job', '4711', '--json').status, 3);
    const stranger = asNobody(site, 'owner', 'bob');
    assert.equal(stranger.status, 3);
    assert.match(stranger.stderr, /the server at .*: this site shows you your own jobs only/);
  });

  it('sees what a changed configuration allows without a restart of the server', async (t) => {
    const site = await newSite('visibility = "own"');
    const { said } = await startServer(t, site);
    const status = (): number | null => asNobody(site, 'job', '4711', '--json').status;
    assert.equal(status(), 3);
    const text = readFileSync(site.config, 'utf8');
    writeFileSync(site.config, text.replace('"own"', '"all"'));
    await until(() => status() === 0, said);
    writeFileSync(site.config, text);
    await until(() => status() === 3, said);
  });

  it("gets status 3 where the server is down, even with an accounting DB of the user's own", async (t) => {
    const site = await newSite();
    const home = join(site.directory, 'home');
    const own = join(home, '.local', 'state', 'qmemacct');
    mkdirSync(own, { recursive: true });
    const store = openSqliteStore(join(own, 'accounting.db'), 0o600);
    await store.merge([{ ...ordinary, job_id: 1, owner: 'nobody' }]);
    await store.close();
    for (const file of readdirSync(own)) chownSync(join(own, file), NOBODY, NOBODY);
    chownSync(own, NOBODY, NOBODY);
    const { child } = await startServer(t, site);
    const commands = [
      ['owner', 'eve'],
      ['top', 'owners', '--owner', 'eve'],
      ['report', '--owner', 'eve'],
    ];
    for (const words of commands) assert.equal(asNobodyAt(home, site, ...words).status, 1, words.join(' '));
    child.kill('SIGKILL');
    await once(child, 'exit');
    for (const words of commands) {
      const { status, stderr } = asNobodyAt(home, site, ...words);
      assert.equal(status, 3, words.join(' '));
      assert.match(stderr, /"qmemacct serve" at .* does not answer for it: it does not run/);
    }
    assert.equal(asNobodyAt(home, site, 'job', '1').status, 0);
  });

  it('gets an error that says why neither the file nor the server could be read', async (t) => {
    const site = await newSite();
    const alone = asNobody(site, 'job', '4711');
    assert.equal(alone.status, 3);
    assert.match(
      alone.stderr,
      /^qmemacct: the site's accounting DB .* can't be read: user "nobody" may not .*; no "qmemacct serve" at .*serve\.sock answers for it\n$/,
    );
    const { child } = await startServer(t, site);
    child.kill('SIGKILL');
    await once(child, 'exit');
    assert.match(
      asNobody(site, 'job', '4711').stderr,
      /"qmemacct serve" at .* does not answer for it: it does not run\n$/,
    );
    chownSync(site.database, 1, 1);
    rmSync(site.database);
    await startServing(t, site.config);
    // Until the server has looked for its DB.
    while (!(await ask({ socketPath: site.socket }, { path: '/v1/health' })).text.includes('does not exist'));
    const missing = asNobody(site, 'owner', 'bob');
    assert.equal(missing.status, 3);
    assert.match(
      missing.stderr,
      /accounting\.db is not on this host; "qmemacct serve" at .* can't read it: .*does not exist/,
    );
  });
});

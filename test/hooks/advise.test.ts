import assert from 'node:assert/strict';
import { execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it } from 'node:test';
import { packageRoot } from '../../src/base/package-root';
import { programDigest } from '../../src/gridengine/program';
import { needing, pastJobs } from '../report/past-jobs';
import { startTestSite, type TestSite } from '../server/test-site';
import { answering } from '../support/listening';
import { temporaryDirectory } from '../support/temporary-directory';

const JSV = join(packageRoot(), 'hooks', 'advise.jsv');

interface Answer {
  /** What Grid Engine's client gets on standard output. */
  readonly said: readonly string[];
  /** Standard error: the client refuses the job where this is not empty. */
  readonly errors: string;
  readonly terminal: string;
}

type Environment = Readonly<Record<string, string>>;

const JOB = {
  CONTEXT: 'client',
  CLIENT: 'qsub',
  USER: 'bob',
  CMDNAME: '/home/bob/step_7',
  CMDARGS: '0',
  N: 'step_7',
  pe_name: 'smp',
  pe_min: '4',
  pe_max: '4',
};

function submission(parameters: Readonly<Record<string, string>>): readonly string[] {
  const lines = Object.entries({ ...JOB, ...parameters }).map(([name, value]) => `PARAM ${name} ${value}`);
  return ['START', ...lines, 'ENV ADD HOME /home/bob', 'BEGIN'];
}

/** The JSV as qsub starts it, in a session with a terminal. */
async function verify(lines: readonly string[], environment: Environment): Promise<Answer> {
  const directory = temporaryDirectory();
  const path = (name: string): string => join(directory, name);
  writeFileSync(path('in'), `${[...lines, 'QUIT'].join('\n')}\n`);
  const command = `/bin/sh -c '${JSV}' <${path('in')} >${path('out')} 2>${path('err')}`;
  const child = spawn('script', ['-qec', command, '/dev/null'], {
    stdio: ['ignore', 'pipe', 'inherit'],
    env: { PATH: process.env.PATH, QMEMACCT_PATIENCE: '60', ...environment },
  });
  let terminal = '';
  child.stdout.on('data', (piece: Buffer) => (terminal += piece.toString('latin1')));
  await once(child, 'close');
  assert.equal(child.exitCode, 0);
  const said = readFileSync(path('out'), 'utf8').trimEnd().split('\n');
  return { said, errors: readFileSync(path('err'), 'utf8'), terminal: terminal.replaceAll('\r', '') };
}

/** The answer where this many jobs are accepted as they are, and nothing is shown. */
const accepted = (jobs: number): Answer => ({
  said: Array.from({ length: jobs }, () => ['STARTED', 'RESULT STATE ACCEPT']).flat(),
  errors: '',
  terminal: '',
});
const ACCEPTED = accepted(1);

/** A server with records of sixty runs that needed 1.75 to 1.98 GiB per slot; the caller stops it. */
function serverWithRuns(advise_submissions: 'warn' | 'rewrite'): Promise<TestSite> {
  const records = pastJobs(60, (index) => needing(7 + ((index * 7) % 10) / 10));
  const now = (): number => Date.parse('2026-11-05T00:00:00Z');
  return startTestSite({ after: () => undefined }, { records, settings: { advise_submissions }, now });
}

const TOO_MUCH =
  /^qmemacct: h_vmem=16G is \d times what is needed: of 60 such runs the largest needed 1\.98 GiB, h_vmem=2(?:\.\d)?G is enough for 99 % of them\n$/;

describe('hooks/advise.jsv', () => {
  const sites: TestSite[] = [];
  let [warning, rewriting] = ['', ''];

  before(async () => {
    for (const rule of ['warn', 'rewrite'] as const) sites.push(await serverWithRuns(rule));
    [warning = '', rewriting = ''] = sites.map(({ socket }) => socket);
  });
  after(() => Promise.all(sites.map(({ stop }) => stop())));

  it('warns on the terminal of a request that is far off, and leaves the job as it is', async () => {
    const verifyJob = (requests: string): Promise<Answer> =>
      verify(submission({ l_hard: requests }), { QMEMACCT_SOCKET: warning });
    const { terminal, ...much } = await verifyJob('h_vmem=16G,h_rt=3600');
    assert.deepEqual({ ...much, terminal: '' }, ACCEPTED);
    assert.match(terminal, TOO_MUCH);
    const little = await verifyJob('h_vmem=1G');
    assert.deepEqual(little.said, ACCEPTED.said);
    assert.match(little.terminal, /^qmemacct: h_vmem=1G is too little: of 60 such runs the largest needed 1\.98 GiB, /);
    const fitting = ['h_vmem=3G', 'h_rt=3600', 'h_vmem=INFINITY', 'mem_free=16G'];
    const jobs = fitting.flatMap((requests) => submission({ l_hard: requests }));
    assert.deepEqual(await verify(jobs, { QMEMACCT_SOCKET: warning }), accepted(fitting.length));
  });

  it('uses the name of the script for a job without a name, and verifies one job after the other', async () => {
    const unnamed = submission({ l_hard: 'h_vmem=16G' }).filter((line) => !line.startsWith('PARAM N '));
    const other = submission({ l_hard: 'h_vmem=16G', N: 'unknown' });
    const { said, errors, terminal } = await verify([...unnamed, ...other], { QMEMACCT_SOCKET: warning });
    assert.deepEqual([said, errors], [accepted(2).said, '']);
    assert.match(terminal, TOO_MUCH);
  });

  it('sets the request where the site rewrites submissions, unless the job declines', async () => {
    const verifyJob = (more: Readonly<Record<string, string>>): Promise<Answer> =>
      verify(submission({ l_hard: 'h_rt=3600,h_vmem=16G,mem_free=1G', ...more }), { QMEMACCT_SOCKET: rewriting });
    const { said, errors, terminal } = await verifyJob({});
    assert.equal(errors, '');
    assert.match(
      said.join('\n'),
      /^STARTED\nPARAM l_hard h_rt=3600,h_vmem=2(?:\.\d)?G,mem_free=1G\nRESULT STATE CORRECT$/,
    );
    assert.match(terminal, / of them; it is set to that, which "qsub -ac qmemacct_request=keep" prevents\n$/);
    assert.match((await verifyJob({ l_hard: 'h_vmem=1G' })).said.join('\n'), /\nPARAM l_hard h_vmem=2(?:\.\d)?G\n/);
    assert.deepEqual(await verifyJob({ ac: 'a=b,qmemacct_request=keep' }), ACCEPTED);
  });

  it('asks with the digest of the program that the record of the job will have', async (t) => {
    const asked: string[] = [];
    const socket = await answering(t, (client) =>
      client.on('data', (piece) => client.end(void asked.push(piece.toString()))),
    );
    const directory = temporaryDirectory();
    const scriptOf = (name: string, text: string | Buffer): string => {
      const path = join(directory, name);
      writeFileSync(path, text);
      return path;
    };
    const plain = Buffer.from('#!/bin/sh\n#$ -N x\n\ncd work/3f/a01b\nsim 12 "$1"\n# end');
    const texts = [
      plain,
      ...['no newline \u00e9\u{1f600}', '\r\n\0deadbeef cafe1\n', '', 'x'.repeat(65_536)].map((text) =>
        Buffer.from(text),
      ),
      Buffer.from([0xff, 0x30, 0x0a, 0xe9]),
    ];
    const cwd = '/data/s1';
    const script = scriptOf('run7.sh', plain);
    const fifo = join(directory, 'fifo');
    execFileSync('mkfifo', [fifo]);
    const command = '/opt/sim-2.1/bin/sim';
    const cases: readonly (readonly [job: Readonly<Record<string, string>>, program: string | null | undefined])[] = [
      ...texts.map(
        (text, index) =>
          [{ CMDNAME: scriptOf(`text${index}.sh`, text), cwd }, programDigest({ script: text }, cwd)] as const,
      ),
      [{ CMDNAME: script }, programDigest({ script: plain }, '/home/bob')],
      [{ CMDNAME: command, b: 'y', cwd }, programDigest({ command }, '/data/s22')],
      // A script that is not on this host, is too long, is a FIFO, or comes from standard input.
      [{ CMDNAME: script, CONTEXT: 'server', cwd }, undefined],
      [{ CMDNAME: scriptOf('long.sh', 'x'.repeat(65_537)), cwd }, undefined],
      [{ CMDNAME: fifo, cwd }, undefined],
      [{ CMDNAME: 'STDIN', cwd }, undefined],
    ];
    const jobs = cases.flatMap(([job]) => submission({ l_hard: 'h_vmem=16G', ...job }));
    assert.deepEqual(await verify(jobs, { QMEMACCT_SOCKET: socket, HOME: '/home/bob' }), accepted(cases.length));
    assert.equal(asked.length, cases.length);
    for (const [index, [job, program]] of cases.entries()) {
      assert.match(asked[index] ?? '', /^GET /);
      assert.equal(/[?&]program=([^& ]*)/.exec(asked[index] ?? '')?.[1], program, JSON.stringify(job));
    }
  });

  it('accepts hostile jobs as they are', async () => {
    const mark = join(temporaryDirectory(), 'mark');
    const names = [
      `$(touch ${mark})`,
      `x'; touch ${mark}; '`,
      '%s%n%x &owner=root&requests=h_vmem=1G#',
      ' HTTP/1.1',
      '\u001b]0;x\u0007\u00e9\u{1f600}',
      'n'.repeat(100_000),
    ];
    const jobs = [
      ...names.map((name) => submission({ N: name, l_hard: 'h_vmem=16G' })),
      ...names.map((name) => submission({ l_hard: name })),
      ...names.map((name) => submission({ l_hard: `h_vmem=${name}` })),
      ...names.map((name) => submission({ l_hard: 'h_vmem=16G', USER: name })),
      [...submission({ l_hard: 'h_vmem=16G' }).slice(0, -1), 'PARAM l_hard all.q', 'BEGIN'],
      ['START', 'PARAM', 'PARAM x', 'NONSENSE', '', 'BEGIN'],
    ];
    assert.deepEqual(await verify(jobs.flat(), { QMEMACCT_SOCKET: rewriting }), accepted(jobs.length));
    assert.equal(existsSync(mark), false);
  });

  it('accepts jobs as they are without a server, and with one that hangs or answers nonsense', async (t) => {
    const job = submission({ l_hard: 'h_vmem=16G' });
    const directory = temporaryDirectory();
    writeFileSync(join(directory, 'file'), '');
    for (const path of ['none', 'file', 'x'.repeat(200)])
      assert.deepEqual(await verify(job, { QMEMACCT_SOCKET: join(directory, path) }), ACCEPTED, path);

    const hanging = await answering(t, () => undefined);
    const dripping = await answering(t, (socket) => {
      const drip = setInterval(() => socket.write('HTTP'), 1);
      socket.on('close', () => clearInterval(drip));
    });
    for (const path of [hanging, dripping]) {
      const begun = performance.now();
      assert.deepEqual(await verify(job, { QMEMACCT_SOCKET: path, QMEMACCT_PATIENCE: '' }), ACCEPTED, path);
      t.diagnostic(`with its terminal and a shell: ${Math.round(performance.now() - begun)} ms`);
    }

    const head = 'HTTP/1.1 200 OK\r\n\r\n';
    const garbage = [
      '',
      'HTTP/1.1 500 Internal Server Error\r\n\r\nset h_vmem=1G x\n',
      `${head}set h_vmem=1G,x=1 such\n`,
      `${head}set h_vmem=1G such\nPARAM N other\n`,
      `${head}set h_vmem=1G \u001b[2J\n`,
      `${head}refuse h_vmem=1G such\n`,
      `${head}set h_rss=1G `.padEnd(100_000, 'x'),
    ];
    const left = [...garbage];
    const path = await answering(t, (socket) => socket.end(left.shift() ?? ''));
    const jobs = garbage.flatMap(() => job);
    assert.deepEqual(await verify(jobs, { QMEMACCT_SOCKET: path }), accepted(garbage.length));
    assert.deepEqual(left, []);
  });

  it("needs none of perl's libraries, which take longer to load than the server takes to answer", async () => {
    const directory = temporaryDirectory();
    const perl = execFileSync('/bin/sh', ['-c', 'command -v perl'], { encoding: 'utf8' }).trim();
    writeFileSync(join(directory, 'NoLibraries.pm'), 'require strict; @INC = (); 1;\n');
    writeFileSync(join(directory, 'perl'), `#!/bin/sh\nexec ${perl} -I ${directory} -MNoLibraries "$@"\n`, {
      mode: 0o755,
    });
    const { said, terminal } = await verify(submission({ l_hard: 'h_vmem=16G' }), {
      QMEMACCT_SOCKET: warning,
      PATH: `${directory}:${process.env.PATH}`,
    });
    assert.deepEqual(said, ACCEPTED.said);
    assert.match(terminal, TOO_MUCH);
  });

  it('accepts jobs as they are where there is no perl', async () => {
    const empty = join(temporaryDirectory(), 'empty');
    mkdirSync(empty);
    const child = spawn('/bin/sh', ['-c', JSV], { env: { PATH: empty }, stdio: ['pipe', 'pipe', 'pipe'] });
    let said = '';
    child.stdout.on('data', (piece: Buffer) => (said += piece.toString()));
    child.stderr.on('data', (piece: Buffer) => (said += piece.toString()));
    child.stdin.end(`${[...submission({ l_hard: 'h_vmem=16G', N: '-n \\c' }), 'QUIT'].join('\n')}\n`);
    await once(child, 'close');
    assert.deepEqual(said, `${ACCEPTED.said.join('\n')}\n`);
  });
});

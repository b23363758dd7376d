import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it } from 'node:test';
import { clientRunner, type ClientAnswer } from '../../src/gridengine/client-command';
import { readJobList } from '../../src/gridengine/qstat/read-job-list';
import { temporaryDirectory } from '../support/temporary-directory';
import { collector, fakeClients, type FakeClients } from './fake-clients';
import { until } from '../support/until';

interface Bench {
  readonly directory: string;
  readonly fake: FakeClients;
  readonly run: ReturnType<typeof clientRunner>;
}

function bench(timeoutMs = 60_000, mostBytes?: number): Bench {
  const directory = temporaryDirectory();
  const fake = fakeClients(directory);
  const env = { ...process.env, PATH: `${fake.bin}:/usr/bin:/bin`, LANG: 'de_DE.UTF-8', LC_ALL: 'de_DE.UTF-8' };
  const cell = { root: '/no/such/root', cell: 'seven' };
  const limit = mostBytes === undefined ? {} : { mostBytes };
  return { directory, fake, run: clientRunner({ env, cell, timeoutMs, ...limit }) };
}

const ASK = ['-u', '*', '-xml'];

async function answerOf({ fake, run }: Bench, script: string): Promise<ClientAnswer> {
  fake.put('qstat', script);
  return run(
    'qstat',
    ASK,
    readJobList(() => undefined),
  );
}

/** The process ids in a file, written by a script, whose processes still run. */
function alive(path: string): readonly number[] {
  return readFileSync(path, 'utf8')
    .trim()
    .split('\n')
    .map(Number)
    .filter((pid) => {
      try {
        return !/^\d+ \(.*\) [ZX]/s.test(readFileSync(`/proc/${pid}/stat`, 'latin1'));
      } catch {
        return false;
      }
    });
}

describe('a client of Grid Engine', () => {
  it('gets its arguments, LC_ALL=C, the cell and no input, and its output reaches the reader', async () => {
    const b = bench();
    b.fake.put('qstat', 'cat; printf "%s|" "$LC_ALL" "$SGE_ROOT" "$SGE_CELL" "$@"');
    const reader = collector(() => ({}));
    const answer = await b.run('qstat', ASK, reader);
    assert.equal(reader.text(), 'C|/no/such/root|seven|-u|*|-xml|');
    assert.equal(answer.problem, null);
  });

  it('has no problem where its document is whole, whatever its status and warnings', async () => {
    const b = bench();
    b.fake.put('qstat', 'echo "warning: something" >&2; echo whole; exit 1');
    const answer = await b.run(
      'qstat',
      ASK,
      collector(() => ({ state: 'complete' })),
    );
    assert.equal(answer.problem, null);
  });

  it('that hangs is ended with all its children when the time is up', async () => {
    const script = (pids: string): string =>
      `echo $$ > ${pids}; sleep 1000 & echo $! >> ${pids}; echo >> ${pids}; trap "" TERM; sleep 1000`;
    const isWhole = (pids: string): boolean => existsSync(pids) && readFileSync(pids, 'utf8').endsWith('\n\n');
    // On a busy machine the script may not have written all ids after 0.4 s.
    for (let seconds = 0.4, isOver = false; !isOver; seconds *= 3) {
      assert.ok(seconds < 60);
      const b = bench(seconds * 1000);
      const pids = join(b.directory, 'pids');
      const { problem, unreachable, tookMs } = await answerOf(b, script(pids));
      assert.match(problem ?? '', /qstat did not answer within \d+(\.\d+)? s and was ended; .*command_timeout/);
      assert.equal(unreachable, true);
      assert.ok(tookMs < 200_000, `took ${tookMs} ms`);
      isOver = isWhole(pids);
      if (isOver) await until(() => alive(pids).length === 0);
    }
  });

  it('whose output is held open by a process of another group is not waited for', async () => {
    const b = bench();
    const pids = join(b.directory, 'pids');
    // The process writes its pid itself, once it has its own session: `$!` would be known earlier.
    const left = `setsid sh -c 'echo $$ > ${pids}.new; mv ${pids}.new ${pids}; exec sleep 600'`;
    const answer = await answerOf(b, `echo "<job_info>"; ${left} & until [ -e ${pids} ]; do sleep 0.01; done; exit 0`);
    assert.equal(alive(pids).length, 1);
    for (const pid of alive(pids)) process.kill(pid);
    assert.match(answer.problem ?? '', /ends in the middle/);
    assert.equal(answer.unreachable, false);
  });

  it('that prints garbage without end is ended by its size, in bounded memory', async () => {
    const b = bench(60_000, 64 * 1024 * 1024);
    const before = process.memoryUsage().rss;
    const answer = await answerOf(b, 'exec yes "<job_list>"');
    assert.match(answer.problem ?? '', /printed too much/);
    assert.ok(process.memoryUsage().rss - before < 48 * 1024 * 1024);
  });

  it('that is slow but answers is waited for', async () => {
    const b = bench();
    const document =
      '<?xml version=\'1.0\'?><job_info  xmlns:xsd="http://arc.liv.ac.uk/repos/darcs/sge/source/dist/util/resources/schemas/qstat/qstat.xsd">';
    const answer = await answerOf(
      b,
      `echo '${document}'; sleep 0.5; echo '<queue_info></queue_info><job_info></job_info>'; sleep 0.5; echo '</job_info>'`,
    );
    assert.equal(answer.problem, null);
    assert.equal(answer.end.dialect, 'sge8.1.9');
    assert.ok(answer.tookMs >= 900);
  });

  it('yields a problem with cause and fix for each kind of failure', async () => {
    const b = bench();
    const cases: readonly (readonly [script: string, problem: RegExp, unreachable: boolean])[] = [
      [
        'echo "error: commlib error: got select error (Connection refused)" >&2; exit 1',
        /^qmaster does not answer \(qstat: commlib error: got select error \(Connection refused\)\); look whether sge_qmaster runs/,
        true,
      ],
      [
        'echo "denied: host \\"login7\\" is neither submit nor admin host" >&2; exit 1',
        /^Grid Engine denies this host \(qstat: denied: host "login7" .*\); ask on a submit host, or .*qconf -as/,
        true,
      ],
      [
        'echo "denied: host \\"login7\\" is neither submit nor admin host"; exit 1',
        /^Grid Engine denies this host/,
        true,
      ],
      [
        'echo "Please set the environment variable SGE_ROOT." >&2; exit 1',
        /the cell is not found .*set SGE_ROOT/,
        true,
      ],
      ['exit 0', /^qstat said nothing \(exit status 0\); try it by hand/, true],
      ['kill -SEGV $$', /^qstat said nothing \(ended by SIGSEGV\)/, true],
      ['printf "\\033[2Jhello world"; exit 0', /^qstat printed no XML \(exit status 0, .*hello world\)/, false],
      ['echo "<?xml version=\'1.0\'?><job_info><queue_info>"; exit 0', /ends in the middle \(exit status 0\)/, false],
      [
        'echo "<?xml version=\'1.0\'?><comunication_error><element><AN_status>1</AN_status><AN_text>unable to contact qmaster</AN_text></element></comunication_error>"; exit 0',
        /^qmaster does not answer/,
        true,
      ],
    ];
    for (const [script, problem, unreachable] of cases) {
      const answer = await answerOf(b, script);
      assert.match(answer.problem ?? 'no problem', problem, script);
      assert.doesNotMatch(answer.problem ?? '', /\p{C}/u);
      assert.equal(answer.unreachable, unreachable, script);
    }
  });

  it('yields a problem where it is not found or cannot be started', async () => {
    const b = bench();
    const run = clientRunner({ env: { PATH: b.fake.bin }, cell: null, timeoutMs: 60_000 });
    const missing = await run(
      'qhost',
      ['-xml'],
      readJobList(() => undefined),
    );
    assert.match(missing.problem ?? '', /^qhost is not found; put Grid Engine's commands into PATH or set SGE_ROOT/);
    writeFileSync(join(b.fake.bin, 'qhost'), 'no program', { mode: 0o644 });
    const denied = await run(
      'qhost',
      ['-xml'],
      readJobList(() => undefined),
    );
    assert.match(denied.problem ?? '', /qhost can't be executed/);
    b.fake.put('qstat', 'exit 0');
    const tooLong = await b.run(
      'qstat',
      ['x'.repeat(3_000_000)],
      readJobList(() => undefined),
    );
    assert.match(tooLong.problem ?? '', /could not be started \(E2BIG\)/);
    assert.equal(tooLong.unreachable, false);
  });

  it('is found below SGE_ROOT/bin when PATH has none, first in the directory of this architecture', async () => {
    const directory = temporaryDirectory();
    const fakes = ['lx-mips', process.arch === 'x64' ? 'lx-amd64' : `lx-${process.arch}`, 'sol-amd64'].map(
      (architecture) => {
        const fake = fakeClients(join(directory, 'bin', architecture, 'x'));
        return { architecture, fake };
      },
    );
    for (const { architecture, fake } of fakes) {
      fake.put('qstat', `echo ${architecture}`);
      const target = join(directory, 'bin', architecture, 'qstat');
      writeFileSync(target, readFileSync(join(fake.bin, 'qstat')), { mode: 0o755 });
    }
    const run = clientRunner({
      env: { PATH: '/nowhere' },
      cell: { root: directory, cell: 'default' },
      timeoutMs: 60_000,
    });
    const reader = collector(() => ({}));
    assert.equal((await run('qstat', ASK, reader)).problem, null);
    assert.equal(reader.text().trim(), fakes[1]?.architecture);
  });

  it('is ended at once when its caller aborts', async () => {
    const b = bench();
    const pids = join(b.directory, 'pids');
    b.fake.put('qstat', `echo $$ > ${pids}; sleep 1000`);
    const stop = new AbortController();
    const answer = b.run(
      'qstat',
      ASK,
      readJobList(() => undefined),
      stop.signal,
    );
    await until(() => existsSync(pids));
    stop.abort();
    assert.match((await answer).problem ?? '', /was stopped before it had answered/);
    await until(() => alive(pids).length === 0);
    const early = await b.run(
      'qstat',
      ASK,
      readJobList(() => undefined),
      AbortSignal.abort(),
    );
    assert.match(early.problem ?? '', /was stopped/);
  });

  it('is ended when SIGINT, SIGTERM or SIGHUP ends its caller', async () => {
    const b = bench();
    const program = join(b.directory, 'program.cjs');
    const module = join(__dirname, '../../src/gridengine/client-command.js');
    writeFileSync(
      program,
      `const { clientRunner } = require(${JSON.stringify(module)});
      const run = clientRunner({ env: process.env, cell: null, timeoutMs: 60000 });
      run('qstat', [], { write() {}, end: () => ({ state: 'empty', said: null, dialect: 'unknown', unknownJobs: [] }) });`,
    );
    for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
      const pids = join(b.directory, `pids-${signal}`);
      b.fake.put('qstat', `sleep 1000 & echo $$ $! | tr ' ' '\\n' > ${pids}.new; mv ${pids}.new ${pids}; wait`);
      const child = spawn(process.execPath, [program], {
        env: { ...process.env, PATH: `${b.fake.bin}:/usr/bin:/bin` },
      });
      await until(() => existsSync(pids));
      const ended = new Promise((resolve) => child.once('exit', (_, by) => resolve(by)));
      child.kill(signal);
      assert.equal(await ended, signal);
      await until(() => alive(pids).length === 0);
    }
  });
});

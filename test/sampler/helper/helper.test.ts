import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { cpSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { after, before, describe, it, type TestContext } from 'node:test';
import { setImmediate, setTimeout as delay } from 'node:timers/promises';
import { Helper, type HelperOptions } from '../../../src/sampler/helper/helper';
import { packageRoot } from '../../../src/base/package-root';
import { makeFifo } from '../../../src/native/libc';
import { isUnavailable, type Reading, type Unavailable } from '../../../src/sources/source';
import { oneOf } from '../../tries';
import { temporaryDirectory } from '../../support/temporary-directory';
import { silentFileSystem } from './silent-fuse';
import { until } from '../../support/until';

/** Deadline of the sources that hang; others have `LONG_MS`, for a busy machine. */
const DEADLINE_MS = 400;
const HANGING = ['file'];
const LONG_MS = 60_000;
const hangingWithin =
  (ms: number) =>
  (source: string): number =>
    HANGING.includes(source) ? ms : LONG_MS;
const STRANGE = join(__dirname, 'strange-helper-main.js');

function newHelper(toml: string, options: Partial<HelperOptions> = {}): Helper {
  const settingsPath = join(temporaryDirectory(), 'qmemacct.toml');
  writeFileSync(settingsPath, toml);
  return new Helper({ settingsPath, deadlineMs: hangingWithin(DEADLINE_MS), script: STRANGE, ...options });
}

function helperWith(t: TestContext, toml: string, options: Partial<HelperOptions> = {}): Helper {
  const helper = newHelper(toml, options);
  t.after(() => helper.close());
  return helper;
}

function why(answer: readonly Reading[] | Unavailable): string {
  return isUnavailable(answer) ? answer.unavailable : `${answer.length} readings`;
}

function values(answer: readonly Reading[] | Unavailable): readonly number[] {
  assert.ok(!isUnavailable(answer), why(answer));
  return answer.map(({ value }) => value);
}

/** Whether the process exists; a zombie does not. */
function exists(pid: number | null): boolean {
  try {
    return pid !== null && !readFileSync(`/proc/${pid}/stat`, 'latin1').includes(') Z ');
  } catch {
    return false;
  }
}

/** A made-up /proc with the processes of the 6.1 fixture. */
function fakeProc(): string {
  const proc = join(temporaryDirectory(), 'proc');
  cpSync(join(packageRoot(), 'test', 'fixtures', 'pss', 'linux-6.1'), proc, { recursive: true });
  for (const pid of [4242, 4243]) setStart(proc, pid, 7000);
  return proc;
}

function setStart(proc: string, pid: number, ticks: number): void {
  const fields = ['S', 1, 1, 1, 0, -1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 20, 0, 1, 0, ticks, 0, 0];
  writeFileSync(join(proc, String(pid), 'stat'), `${pid} (python3) ${fields.join(' ')}\n`);
}

describe('the helper process', () => {
  it('reads the sources of the registry with the product’s own program', async (t) => {
    const helper = new Helper({ settingsPath: '/nonexistent/qmemacct.toml', deadlineMs: () => 60_000 });
    t.after(() => helper.close());
    assert.equal(values(await helper.read('loadavg')).length, 5);
    const own = await helper.read('pss', [process.pid]);
    assert.ok(!isUnavailable(own), why(own));
    const ofPid = own.find(({ metric }) => metric === 'pss_bytes');
    assert.equal(ofPid?.pid, process.pid);
    assert.ok(ofPid.value > 5e6 && ofPid.value <= process.memoryUsage.rss() * 1.5, `${ofPid.value} bytes`);
    assert.equal(why(await helper.read('nosuch')), 'no source named "nosuch"');
    assert.equal(helper.state().started, 1);
  });

  it('is started with the first request, once for all of them', async (t) => {
    const helper = helperWith(t, '[sources.good]\nanswer = 43\n');
    assert.deepEqual(helper.state(), { pid: null, started: 0, abandoned: 0 });
    const answers = await Promise.all([helper.read('good'), helper.read('pid'), helper.read('pid')]);
    assert.deepEqual(values(answers[0]), [43]);
    assert.deepEqual(values(answers[1]), values(answers[2]));
    assert.deepEqual(values(answers[1]), [helper.state().pid]);
  });

  describe('started once', () => {
    let helper: Helper;
    before(() => {
      helper = newHelper('[sources.slow]\nms = 1\n');
    });
    after(() => helper.close());

    it('answers with 20,000 readings', async () => {
      assert.equal(values(await helper.read('big')).length, 20_000);
    });

    it('answers for 10,000 processes, each of which it names before it reads it', async () => {
      const pids = Array.from({ length: 10_000 }, (_, index) => index + 1);
      assert.equal(values(await helper.read('steps', pids)).length, 10_000);
    });

    it('gets nothing from the environment, works in / and has the OOM score 0', async () => {
      const environment = await helper.read('environment');
      assert.ok(!isUnavailable(environment));
      const names = environment.map(({ metric }) => metric);
      assert.deepEqual(
        names.filter((name) => !name.startsWith('NODE_')),
        ['LC_ALL', 'MALLOC_ARENA_MAX', 'PATH', 'UV_THREADPOOL_SIZE'],
      );
      const pid = String(helper.state().pid);
      assert.equal(spawnSync('readlink', [`/proc/${pid}/cwd`], { encoding: 'utf8' }).stdout, '/\n');
      assert.equal(readFileSync(`/proc/${pid}/oom_score_adj`, 'utf8'), '0\n');
    });

    it('answers no more than 64 requests at a time', async () => {
      const answers = await Promise.all(Array.from({ length: 70 }, () => helper.read('slow')));
      assert.equal(answers.filter(isUnavailable).length, 6);
      assert.deepEqual(values(await helper.read('good')), [42]);
    });

    it('says what a source threw, and goes on', async () => {
      assert.equal(why(await helper.read('throws')), 'source throws failed: not');
      assert.deepEqual(values(await helper.read('good')), [42]);
      assert.equal(helper.state().started, 1);
    });
  });

  it('uses the defaults where the settings can’t be used', async (t) => {
    const settingsPath = join(temporaryDirectory(), 'qmemacct.toml');
    writeFileSync(settingsPath, 'interval = "never"\n');
    const helper = new Helper({ settingsPath, deadlineMs: () => 60_000 });
    t.after(() => helper.close());
    assert.equal(values(await helper.read('loadavg')).length, 5);
  });

  it('is replaced where a source crashes, talks, lies or floods', async (t) => {
    const helper = helperWith(t, '', { deadlineMs: () => 60_000 });
    assert.deepEqual(values(await helper.read('good')), [42]);
    for (const [index, [source, reason]] of [
      ['crashes', 'the helper process ended (what a pity)'],
      ['talks', 'the helper process wrote something that is no answer'],
      ['lies', 'the helper process wrote something that is no answer'],
      ['floods', 'the helper process wrote a line of more than 16777216 characters'],
    ].entries()) {
      const { pid } = helper.state();
      assert.equal(why(await helper.read(source ?? '')), reason);
      assert.deepEqual(values(await helper.read('good')), [42], source);
      assert.equal(helper.state().started, index + 2, source);
      await until(() => !exists(pid) && helper.state().abandoned === 0, 'the end of the old helper');
    }
  });

  it('is reported where it can’t be started', async (t) => {
    const helper = helperWith(t, '', { script: '/nonexistent/helper.js' });
    assert.match(why(await helper.read('good')), /^the helper process ended \(/);
    const wrong = helperWith(t, '', { nodeOptions: ['--no-such-option'] });
    assert.match(why(await wrong.read('good')), /^the helper process ended \(.*no-such-option/);
  });

  it('is started anew after it was killed while idle', async (t) => {
    const helper = helperWith(t, '');
    const [pid = 0] = values(await helper.read('pid'));
    process.kill(pid, 'SIGKILL');
    await until(() => helper.state().pid === null, 'the report of its end');
    assert.notDeepEqual(values(await helper.read('pid')), [pid]);
  });

  it('ends after a while without a request', async (t) => {
    const helper = helperWith(t, '', { idleMs: 100 });
    const [pid = 0] = values(await helper.read('pid'));
    await until(() => !exists(pid), 'its end');
    await until(() => helper.state().abandoned === 0, 'no abandoned helper');
    assert.deepEqual(values(await helper.read('good')), [42]);
    assert.equal(helper.state().started, 2);
  });

  it('is closed, with an answer to the requests that wait', async (t) => {
    const helper = helperWith(t, '[sources.slow]\nms = 60000\n', { deadlineMs: () => 30_000 });
    const [pid = 0] = values(await helper.read('pid'));
    const waiting = [helper.read('slow'), helper.read('good')];
    await setImmediate();
    await helper.close();
    // It has been killed, but `close` waits for a second at most.
    await until(() => !exists(pid), 'its end');
    assert.deepEqual((await Promise.all(waiting)).map(why), ['the helper process was ended', 'the sampler is ending']);
    assert.equal(why(await helper.read('good')), 'the sampler is ending');
  });

  it('ends with the process that started it, even if that is killed', async () => {
    const script = join(temporaryDirectory(), 'parent.js');
    const module = require.resolve('../../../src/sampler/helper/helper');
    writeFileSync(
      script,
      `const { Helper } = require(${JSON.stringify(module)});
       const helper = new Helper({ settingsPath: '/nonexistent', deadlineMs: () => 60_000, script: ${JSON.stringify(STRANGE)} });
       helper.read('pid').then(([{ value }]) => console.log(value));
       setInterval(() => undefined, 1000);`,
    );
    const parent = spawn(process.execPath, [script], { stdio: ['ignore', 'pipe', 'inherit'] });
    const [line] = (await once(parent.stdout, 'data')) as [Buffer];
    const pid = Number(line.toString());
    assert.ok(exists(pid));
    parent.kill('SIGKILL');
    await once(parent, 'exit');
    await until(() => !exists(pid), 'the end of the helper');
  });
});

describe('a source that hangs', () => {
  it('costs its own reading and one helper; the next source is answered by a new one', async (t) => {
    const fifo = join(temporaryDirectory(), 'fifo');
    makeFifo(fifo, 0o600);
    const helper = helperWith(t, `[sources.file]\npath = "${fifo}"\n`);
    assert.deepEqual(values(await helper.read('good')), [42]);
    const { pid } = helper.state();
    const begun = performance.now();
    const [hung, good] = await Promise.all([helper.read('file'), helper.read('good')]);
    const took = performance.now() - begun;
    assert.equal(why(hung), 'did not answer within 0.4 s');
    assert.deepEqual(values(good), [42]);
    assert.ok(took >= DEADLINE_MS && took < DEADLINE_MS + 30_000, `${took} ms`);
    await until(() => !exists(pid) && helper.state().abandoned === 0, 'its end');
  });

  it('has a deadline that counts from the start of the helper’s work', (t) =>
    oneOf(3, async () => {
      const late = join(temporaryDirectory(), 'late.js');
      writeFileSync(late, 'Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, 1200);');
      const nodeOptions = ['--require', late];
      const helper = helperWith(t, '[sources.slow]\nms = 60\n', { deadlineMs: () => 1000, nodeOptions });
      assert.deepEqual(values(await helper.read('slow')), [1]);
    }));

  it('is put off after three times, for longer each time, until it answers again', async (t) => {
    const fifo = join(temporaryDirectory(), 'fifo');
    makeFifo(fifo, 0o600);
    let clock = 0;
    let patience = 100;
    const deadlineMs = (source: string): number => hangingWithin(patience)(source);
    const helper = helperWith(t, `[sources.file]\npath = "${fifo}"\n`, { deadlineMs, now: () => clock });
    for (let i = 0; i < 3; i++) assert.equal(why(await helper.read('file')), 'did not answer within 0.1 s');
    assert.equal(why(await helper.read('file')), 'no answer 3 times in a row; tried again in 30 s');
    clock = 29_999;
    assert.equal(why(await helper.read('file')), 'no answer 3 times in a row; tried again in 1 s');
    assert.deepEqual(values(await helper.read('good')), [42]);
    clock = 30_000;
    assert.equal(why(await helper.read('file')), 'did not answer within 0.1 s');
    assert.equal(why(await helper.read('file')), 'no answer 4 times in a row; tried again in 60 s');
    clock = 90_000;
    rmSync(fifo);
    writeFileSync(fifo, 'fixed');
    patience = LONG_MS;
    assert.deepEqual(values(await helper.read('file')), [5]);
    patience = 100;
    rmSync(fifo);
    makeFifo(fifo, 0o600);
    assert.equal(why(await helper.read('file')), 'did not answer within 0.1 s');
    assert.equal(why(await helper.read('file')), 'did not answer within 0.1 s');
  });

  it('is not one whose answer came in time, however late the sampler reads it', (t) =>
    oneOf(5, async () => {
      const deadlineMs = (source: string): number => (source === 'slow' ? 600 : LONG_MS);
      const helper = helperWith(t, '[sources.slow]\nms = 50\n', { deadlineMs });
      assert.deepEqual(values(await helper.read('good')), [42]);
      const answer = helper.read('slow');
      await delay(10);
      for (const end = performance.now() + 1200; performance.now() < end;);
      assert.deepEqual(values(await answer), [1]);
    }));

  it('beyond SIGKILL is abandoned with its helper, and after four such helpers no fifth is started', async (t) => {
    const silent = await silentFileSystem(t, temporaryDirectory());
    if (typeof silent === 'string') {
      t.skip(silent);
      return;
    }
    let clock = 0;
    const helper = helperWith(t, `[sources.file]\npath = "${silent.file}"\n`, {
      deadlineMs: hangingWithin(200),
      now: () => clock,
    });
    for (let i = 1; i <= 4; i++)
      await until(async () => {
        // Long enough for no source to be put off.
        clock += 1_000_000;
        assert.equal(why(await helper.read('file')), 'did not answer within 0.2 s');
        if (i < 4) assert.deepEqual(values(await helper.read('good')), [42]);
        await delay(200);
        // A helper that was killed before it began to read has ended: the next one is tried.
        return helper.state().abandoned >= i;
      }, 'a helper beyond SIGKILL');
    const before = performance.now();
    assert.match(why(await helper.read('good')), /^4 helper processes hang in the kernel/);
    assert.ok(performance.now() - before < LONG_MS / 2);
    await silent.end();
    await until(() => helper.state().abandoned === 0, 'the end of the abandoned helpers');
    assert.deepEqual(values(await helper.read('good')), [42]);
  });
});

describe('a process at which the helper hangs', () => {
  const pssOf = (answer: readonly Reading[] | Unavailable): readonly (number | undefined)[] => {
    assert.ok(!isUnavailable(answer), why(answer));
    return answer.filter(({ metric }) => metric === 'pss_bytes').map(({ pid }) => pid);
  };

  it('is left out until its pid is another process’s, and the others are read', async (t) => {
    const proc = fakeProc();
    const rollup = join(proc, '4242', 'smaps_rollup');
    renameSync(rollup, `${rollup}.real`);
    makeFifo(rollup, 0o600);
    const pids = [4242, 4243];
    let patience = 200;
    const begin = (): Helper =>
      helperWith(t, `[sources.place]\nproc = "${proc}"\n`, { deadlineMs: () => patience, procRoot: proc });
    let helper = begin();
    // If the helper has not begun to read after 0.2 s, no process is to blame.
    await oneOf(5, async () => {
      helper = begin();
      assert.equal(
        why(await helper.read('pss', pids)),
        'process 4242 did not answer within 0.2 s and is left out from now on',
      );
    });
    patience = LONG_MS;
    assert.deepEqual(pssOf(await helper.read('pss', pids)), [4243]);
    rmSync(rollup);
    renameSync(`${rollup}.real`, rollup);
    assert.deepEqual(pssOf(await helper.read('pss', pids)), [4243]);
    setStart(proc, 4242, 8000);
    assert.deepEqual(pssOf(await helper.read('pss', pids)), [4242, 4243]);
  });

  it('has a deadline of its own', (t) =>
    oneOf(5, async () => {
      const helper = helperWith(t, '[sources.steps]\nms = 150\n', { deadlineMs: () => 600 });
      assert.equal(values(await helper.read('steps', [1, 2, 3, 4, 5, 6])).length, 6);
    }));

  it('is put off for its own job only', async (t) => {
    const deadlineMs = (): number => patience;
    let patience = LONG_MS;
    const helper = helperWith(t, '[sources.steps]\nhangs_from = 4000000\n', { deadlineMs });
    assert.deepEqual(values(await helper.read('steps', [1, 2])), [1, 1]);
    // These processes don't exist: like ones that have ended, they are not left out by pid.
    const hostile = [4_500_000, 4_500_001];
    for (let i = 0; i < 3; i++) {
      patience = 100;
      assert.match(why(await helper.read('steps', hostile)), /did not answer within/);
      patience = LONG_MS;
      assert.deepEqual(values(await helper.read('steps', [1, 2])), [1, 1]);
    }
    assert.match(why(await helper.read('steps', hostile)), /^no answer 3 times in a row/);
    assert.deepEqual(values(await helper.read('steps', [1, 2])), [1, 1]);
  });

  it('can’t make a request last longer than 12 deadlines', (t) =>
    oneOf(10, async () => {
      const helper = helperWith(t, '[sources.steps]\nms = 50\n', { deadlineMs: () => 150 });
      const pids = Array.from({ length: 200 }, (_, index) => index + 1);
      assert.equal(why(await helper.read('steps', pids)), 'did not end within 1.8 s');
    }));
});

import assert from 'node:assert/strict';
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { chownSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { startTicksOf } from '../../../src/sampler/job/pid-file';
import type { RunDescription } from '../../../src/sampler/job/run-description';
import { adoptable, type Adoption } from '../../../src/sampler/service/adoptable';
import type { SpoolEntry } from '../../../src/sampler/service/spool-watch';
import { bootId } from '../../../src/sources/proc/clock';
import { sampleConfig } from '../../gridengine/spool-samples';
import { temporaryDirectory } from '../../support/temporary-directory';

const ourHook = (stage: string, user = 'root@/usr/bin/env -i '): string =>
  `${user}/bin/sh -p /opt/qmemacct/current/hooks/${stage}.sh $job_id $ja_task_id`;
const asRoot = process.getuid?.() === 0;

interface FakeJob {
  readonly entry: SpoolEntry;
  readonly shepherd: ChildProcess & { readonly pid: number };
  readonly write: (name: string, text: string) => void;
  readonly config: (changes?: Readonly<Record<string, string | null>>) => void;
}

/** A spool directory with a process in it, as execd leaves it when the shepherd has started. */
async function fakeJob(t: TestContext, name = '1516.1', peTask: string | null = null): Promise<FakeJob> {
  const path = join(temporaryDirectory(), name, peTask ?? '');
  mkdirSync(path, { recursive: true });
  const child = spawn('sleep', ['120'], { cwd: path, stdio: 'ignore' });
  t.after(() => child.kill('SIGKILL'));
  await once(child, 'spawn');
  const shepherd = Object.assign(child, { pid: child.pid ?? 0 });
  const write = (file: string, text: string): void => writeFileSync(join(path, file), text);
  const config = (changes: Readonly<Record<string, string | null>> = {}): void =>
    write('config', sampleConfig(changes));
  config({ prolog: 'none', epilog: 'none' });
  write('pid', `${shepherd.pid}\n`);
  const [job, task] = name.split('.').map(Number);
  return { entry: { path, job: job ?? 0, task: task ?? 0, peTask }, shepherd, write, config };
}

function runOf(adoption: Adoption): RunDescription {
  assert.ok(typeof adoption !== 'string', 'not adopted');
  return adoption.run;
}

describe('the service’s decision on a job in active_jobs', () => {
  it('is to follow the job that its directory describes', async (t) => {
    const { entry, shepherd } = await fakeJob(t);
    const run = runOf(adoptable(entry));
    assert.deepEqual(run, {
      job: 1516,
      task: 0,
      spool: entry.path,
      shepherdPid: shepherd.pid,
      shepherdStart: startTicksOf(shepherd.pid),
      boot: bootId(),
      hooks: 'root',
      memory: 'full',
      reason: '',
      addressSpaceKib: null,
      attached: false,
      peTask: null,
      ends: 'usage',
    });
  });

  it('is to follow array tasks and slave tasks as such', async (t) => {
    const array = await fakeJob(t, '1516.5');
    array.config({ ja_task_id: '5', prolog: 'none', epilog: 'none' });
    assert.equal(runOf(adoptable(array.entry)).task, 5);
    const first = await fakeJob(t, '1516.1');
    first.config({ ja_task_id: '1', prolog: 'none', epilog: 'none' });
    assert.equal(runOf(adoptable(first.entry)).task, 1);
    // Our hooks in a slave task's config run for the master only.
    const task = await fakeJob(t, '1516.1', '2.ge2');
    task.config({ prolog: ourHook('prolog'), epilog: ourHook('epilog') });
    const run = runOf(adoptable(task.entry));
    assert.deepEqual([run.task, run.peTask, run.ends], [0, '2.ge2', 'usage']);
  });

  it('is to wait for our prolog until job_pid has been written', async (t) => {
    const { entry, config, write } = await fakeJob(t);
    config({ prolog: ourHook('prolog'), epilog: ourHook('epilog') });
    assert.equal(adoptable(entry), 'wait');
    write('job_pid', '');
    assert.equal(adoptable(entry), 'wait');
    write('job_pid', '4711\n');
    assert.equal(runOf(adoptable(entry)).ends, 'epilog');
    config({ prolog: ourHook('prolog'), epilog: 'none' });
    assert.equal(runOf(adoptable(entry)).ends, 'usage');
  });

  it('counts on no hook of another name, or of another user than root', async (t) => {
    const { entry, config } = await fakeJob(t);
    for (const prolog of ['root@/site/prolog.sh', ourHook('prolog', ''), ourHook('prolog', 'ge@/usr/bin/env -i ')]) {
      config({ prolog, epilog: ourHook('epilog', '') });
      assert.equal(runOf(adoptable(entry)).ends, 'usage');
    }
  });

  it('is to wait while the pid of a shepherd is missing', async (t) => {
    const { entry, write } = await fakeJob(t);
    for (const text of ['', '\n', '0\n', '1\n', '-5\n', 'pid\n', '99999999999999999999\n']) {
      write('pid', text);
      assert.equal(adoptable(entry), 'wait', JSON.stringify(text));
    }
    rmSync(join(entry.path, 'pid'));
    assert.equal(adoptable(entry), 'wait');
    rmSync(entry.path, { recursive: true });
    assert.equal(adoptable(entry), 'wait');
  });

  it('is that the job is over where the shepherd has gone or its pid is another process’s', async (t) => {
    const { entry, shepherd, write } = await fakeJob(t);
    write('pid', `${process.pid}\n`);
    assert.equal(adoptable(entry), 'over');
    write('pid', '4194303\n');
    assert.equal(adoptable(entry), 'over');
    write('pid', `${shepherd.pid}\n`);
    const ended = once(shepherd, 'exit');
    shepherd.kill('SIGKILL');
    await ended;
    assert.equal(adoptable(entry), 'over');
  });

  it(
    'is to wait where the pid file is another user’s or a link',
    { skip: asRoot ? false : 'gives files away' },
    async (t) => {
      const { entry, shepherd } = await fakeJob(t);
      chownSync(join(entry.path, 'pid'), 65534, 65534);
      assert.equal(adoptable(entry), 'wait');
      rmSync(join(entry.path, 'pid'));
      writeFileSync(join(entry.path, '..', 'elsewhere'), `${shepherd.pid}\n`);
      symlinkSync('../elsewhere', join(entry.path, 'pid'));
      assert.equal(adoptable(entry), 'wait');
    },
  );

  it('is to follow the job with a missing or forged config once job_pid has been written', async (t) => {
    const { entry, write, config } = await fakeJob(t);
    config({ cwd: `/home/alice\nprolog=${ourHook('prolog')}\nja_task_id=9`, epilog: 'none' });
    // A forged config does not show whether our prolog runs: the job is not sampled in its first moments.
    assert.equal(adoptable(entry), 'wait');
    config({ cwd: '/home/alice\nprolog=none\nepilog=none', prolog: ourHook('prolog'), epilog: ourHook('epilog') });
    assert.equal(adoptable(entry), 'wait');
    write('job_pid', '4711\n');
    config({ cwd: `/home/alice\nepilog=${ourHook('epilog')}\nja_task_id=9`, epilog: 'none' });
    const { job, task, ends } = runOf(adoptable(entry));
    assert.deepEqual([job, task, ends], [1516, 0, 'usage']);
    write('config', '\0\xff=\n=\n\n');
    assert.deepEqual([runOf(adoptable(entry)).task, runOf(adoptable(entry)).ends], [0, 'usage']);
    rmSync(join(entry.path, 'config'));
    assert.equal(runOf(adoptable(entry)).task, 0);
  });
});

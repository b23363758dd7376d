import assert from 'node:assert/strict';
import { execFileSync, spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, type TestContext } from 'node:test';
import { addressSpaceNeeded } from '../../src/cli/install/hook-conf';
import { Rlimit } from '../../src/native/libc';
import type { JobRecord } from '../../src/record/record';
import {
  accountingRecord,
  heldJob,
  it,
  lapse,
  letGoSampled,
  lookedAt,
  newSite,
  nodeRecord,
  nodeSamples,
  quiet,
  runJob,
  runSampled,
  sampledSince,
  shepherdObstacle,
  startJob,
  type Held,
  type Job,
  type Site,
  type Steps,
} from './fake-shepherd';
import { until } from '../support/until';

const MIB = 1024 * 1024;
/** Prolog and epilog end themselves after 2 and 5 s; the rest allows for a busy machine. */
const PROLOG_MS = 2000 + 15_000;
const EPILOG_MS = 5000 + 15_000;
const NPROC = 6;

const sleeping = (seconds: number): readonly string[] => ['/bin/sh', '-c', `sleep ${seconds}; exit 3`];

/** Asserts that prolog and epilog succeeded in time. */
function assertHarmless(steps: Partial<Steps>): void {
  assert.equal(steps.prolog?.status, 0, 'prolog');
  assert.equal(steps.epilog?.status, 0, 'epilog');
  assert.ok(steps.prolog.ms < PROLOG_MS, `prolog took ${steps.prolog.ms} ms`);
  assert.ok(steps.epilog.ms < EPILOG_MS, `epilog took ${steps.epilog.ms} ms`);
}

function runDirectories(site: Site): readonly string[] {
  return [join(site.state, 'run'), join(site.runDir, 'run')].flatMap((path) =>
    existsSync(path) ? readdirSync(path) : [],
  );
}

async function delivered(site: Site, job: Job): Promise<JobRecord> {
  const record = await accountingRecord(site, job.number);
  assert.ok(record !== null, `job ${job.number} was not delivered`);
  return record;
}

function sampler(job: Job): Promise<number> {
  return until(() => job.sampler(), 'the sampler’s pid file');
}

function hasSaved(site: Site, job: Job, more = 10): boolean {
  try {
    return nodeSamples(site, job.key).length > more;
  } catch {
    // The sampler has not made node.db, or not its tables.
    return false;
  }
}

const notesOf = (record: JobRecord): string => record.notes.join(' ');
const limit = (resource: number, bytes: number, soft = bytes): string => `limit=${resource}:${soft}:${bytes}`;

describe('hooks and sampler', { skip: shepherdObstacle() ?? false, concurrency: 3 }, () => {
  for (const shell of ['/bin/dash', '/bin/bash', '/bin/busybox'].filter((path) => existsSync(path)))
    it(`work with ${shell} as /bin/sh, and with descriptors 0 to 2 closed`, async (t) => {
      const site = newSite(t);
      for (const shepherd of [[], ['closed=1']]) {
        const { job, steps } = await runSampled(site, 600, { shell, shepherd });
        assertHarmless(steps);
        assert.equal(steps.job.status, 3);
        const record = await delivered(site, job);
        assert.equal(record.trust, 'root');
        assert.equal(record.exit_status, 3);
        assert.ok((record.samples ?? 0) > 0);
        assert.deepEqual(runDirectories(site), []);
      }
    });

  it('leave a job that ends at once unharmed, and deliver its record', async (t) => {
    const site = newSite(t, { armWait: 0 });
    const { job, steps } = await runJob(site, ['/bin/true']);
    assertHarmless(steps);
    const record = await delivered(site, job);
    assert.equal(record.exit_status, 0);
    assert.equal(record.status, 'finished');
    assert.deepEqual(runDirectories(site), []);
  });

  it('record the signal that ended a job', async (t) => {
    const site = newSite(t);
    const hold = heldJob(site, 'kill -9 $$');
    const job = startJob(site, hold.command);
    await letGoSampled(job, hold, 400);
    await job.ended;
    await quiet(site);
    const record = await delivered(site, job);
    assert.equal(record.exit_status, 137);
    assert.equal(record.signal, 9);
  });

  it('run a site’s own hooks after ours, and exit with their status', async (t) => {
    const site = newSite(t);
    const seen = join(site.directory, 'seen');
    const hook = join(site.directory, 'own.sh');
    writeFileSync(hook, `#!/bin/sh\n{ env; echo "arguments=$*"; pwd; } >>'${seen}'\nexit 42\n`, { mode: 0o755 });
    const hold = heldJob(site);
    const job = startJob(site, hold.command, { chained: [`root@${hook}`, 'a', '$b'] });
    await letGoSampled(job, hold, 400);
    const steps = await job.ended;
    await quiet(site);
    assert.equal(steps.prolog?.status, 42);
    assert.equal(steps.epilog?.status, 42);
    const text = readFileSync(seen, 'utf8');
    assert.equal(text.match(/^arguments=a \$b$/gm)?.length, 2);
    assert.equal(text.match(/^GREETING=two\nlines$/gm)?.length, 2);
    assert.doesNotMatch(text, /LD_PRELOAD/);
    assert.match(text, /^SGE_JOBEXIT_STAT=3$/m);
    assert.ok((await delivered(site, job)).samples);
  });

  it('have the tasks that a parallel job starts on its own host sampled, too, even those that outlive its script', async (t) => {
    const site = newSite(t);
    const [script, early, late] = [heldJob(site), heldJob(site, 'exit 4'), heldJob(site, 'exit 5')];
    const job = startJob(site, script.command, { config: { pe: 'mpi', host_slots: '2' } });
    await lookedAt(job);
    const tasks = [early, late].map(({ command }, index) =>
      startJob(site, command, { job: job.number, peTask: `${index + 1}.node1`, config: { pe: 'mpi' } }),
    );
    const [one, two] = tasks;
    assert.ok(one !== undefined && two !== undefined);
    for (const task of tasks) await until(() => task.sampler() === job.sampler(), `the sampler of ${task.spool}`);
    await letGoSampled(one, early, 400);
    await one.ended;
    script.letGo();
    await job.ended;
    late.letGo();
    await two.ended;
    await quiet(site);
    const figures = [job, one, two].map(({ key }) => {
      const { pe_task_id: task, status, exit_status: exit, trust, samples } = nodeRecord(site, key);
      assert.ok((samples ?? 0) > 2, `${task ?? 'the script'}: ${samples ?? 0} samples`);
      return [task, status, exit, trust];
    });
    assert.deepEqual(figures, [
      [null, 'finished', 3, 'root'],
      ['1.node1', 'finished', 4, 'root'],
      ['2.node1', 'finished', 5, 'root'],
    ]);
  });

  it('hand over a self-reported record when they run without root', async (t) => {
    const site = newSite(t, { settings: ['accept_self_reported = true'] });
    const user = { uid: 65534, name: 'nobody' };
    const options = { plain: true, shepherd: [`uid=${user.uid}`], owner: user.uid, config: { job_owner: user.name } };
    const { job, steps } = await runSampled(site, 800, options);
    assertHarmless(steps);
    // An epilog that waits too long for the sampler adds what it knows.
    assert.notDeepEqual(readdirSync(join(site.state, 'outbox')), []);
    assert.deepEqual(readdirSync(join(site.state, 'plain')), []);
    await runSampled(site, 100);
    const record = await delivered(site, job);
    assert.equal(record.trust, 'self-reported');
    assert.equal(record.owner, user.name);
    assert.equal(record.exit_status, 3);
    assert.ok((record.samples ?? 0) > 0);
    assert.deepEqual(readdirSync(join(site.state, 'outbox')), []);
  });

  it('exit with 0 when they are called without a shepherd or with wrong arguments', (t) => {
    const site = newSite(t);
    for (const name of ['prolog.sh', 'epilog.sh'])
      for (const words of [[], ['1'], ['x', 'y'], ['1', '0'], ['1;id', '0'], ['../1', '0']])
        assert.equal(spawnSync('/bin/sh', ['-p', join(site.hooks, name), ...words], { cwd: site.directory }).status, 0);
    assert.deepEqual(runDirectories(site), []);
  });

  it('exit with 0 without Node, and keep what Grid Engine knows for an unsampled record', async (t) => {
    const site = newSite(t, { armWait: 0 });
    const conf = join(site.hooks, 'hook.conf');
    const text = readFileSync(conf, 'utf8');
    writeFileSync(conf, text.replace(/^node=.*$/m, "node='/no/such/node'"));
    const without = startJob(site, sleeping(0.2));
    assertHarmless(await without.ended);
    assert.equal(readFileSync(join(site.state, 'run', without.key, 'copied'), 'utf8'), '1\n');
    writeFileSync(conf, text);
    await runSampled(site, 100);
    const record = await delivered(site, without);
    assert.equal(record.trust, 'usage');
    assert.equal(record.exit_status, 3);
    assert.equal(record.owner, 'alice');
    assert.match(notesOf(record), /Not sampled/);
    assert.deepEqual(runDirectories(site), []);
  });
});

describe(
  'the record of a job whose sampler or shepherd is killed or stopped',
  { skip: shepherdObstacle() ?? false, concurrency: 4 },
  () => {
    /** Starts jobs until a sampler is killed before it has saved anything: one that has lived 5 s may have. */
    async function startUnsaved(site: Site): Promise<{ readonly job: Job; readonly hold: Held }> {
      for (;;) {
        const hold = heldJob(site);
        const job = startJob(site, hold.command);
        await job.step('start');
        process.kill(await sampler(job), 'SIGKILL');
        if (!hasSaved(site, job, 0)) return { job, hold };
        hold.letGo();
        await job.ended;
        await quiet(site);
      }
    }

    it('is made of the epilog’s copies where the sampler had saved nothing', async (t) => {
      const site = newSite(t);
      const { job, hold } = await startUnsaved(site);
      await lapse(1200);
      hold.letGo();
      assertHarmless(await job.ended);
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.status, 'finished');
      assert.equal(record.trust, 'usage');
      assert.equal(record.exit_status, 3);
      assert.ok((record.wallclock_seconds ?? 0) >= 1);
      assert.match(notesOf(record), /Not sampled/);
      assert.deepEqual(runDirectories(site), []);
    });

    it('keeps the samples that a killed sampler had saved, with an open peak', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      const pid = await sampler(job);
      await job.step('start');
      const began = Date.now();
      await until(() => hasSaved(site, job), 'saved samples');
      process.kill(pid, 'SIGKILL');
      await lapse(1000);
      const seconds = (Date.now() - began) / 1000;
      hold.letGo();
      assertHarmless(await job.ended);
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.status, 'finished');
      assert.equal(record.exit_status, 3);
      assert.ok((record.samples ?? 0) > 10);
      assert.ok(record.peak_rss?.open.includes('sampler-lost'));
      assert.match(notesOf(record), /sampler died/);
      // The file `usage` has whole seconds.
      assert.ok((record.wallclock_seconds ?? 0) >= seconds - 1, `${record.wallclock_seconds ?? 0} of ${seconds} s`);
      assert.deepEqual(runDirectories(site), []);
    });

    it('has the exit status though the epilog gave up waiting for a stopped sampler', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      const pid = await sampler(job);
      await job.step('start');
      process.kill(pid, 'SIGSTOP');
      hold.letGo();
      const steps = await job.ended;
      assertHarmless(steps);
      // As execd does, without waiting for anyone.
      rmSync(job.spool, { recursive: true });
      process.kill(pid, 'SIGCONT');
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.exit_status, 3);
      assert.equal(record.status, 'finished');
      assert.deepEqual(runDirectories(site), []);
    });

    it('has the exit status though the epilog did not find the sampler', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      await sampler(job);
      await job.step('start');
      const [directory = ''] = runDirectories(site);
      for (const name of ['pid', 'starting']) rmSync(join(site.state, 'run', directory, name), { force: true });
      hold.letGo();
      assertHarmless(await job.ended);
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.status, 'finished');
      assert.equal(record.exit_status, 3);
      // On a busy machine the flush that the epilog starts may come before the sampler's next look.
      assert.ok(record.trust === 'root' || record.trust === 'usage', record.trust);
      assert.deepEqual(runDirectories(site), []);
    });

    it('keeps the samples of a sampler that got SIGTERM', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      const pid = await sampler(job);
      await lookedAt(job);
      await lapse(1000);
      process.kill(pid, 'SIGTERM');
      await until(() => job.sampler() === null, 'the end of the sampler');
      hold.letGo();
      assertHarmless(await job.ended);
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.exit_status, 3);
      assert.ok((record.samples ?? 0) > 0);
    });

    it('has status lost where the shepherd was killed, and the sampler goes on sampling', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      await lookedAt(job);
      job.killShepherd();
      await sampledSince(site, job, Date.now());
      hold.letGo();
      await job.ended;
      await quiet(site);
      const record = await delivered(site, job);
      assert.equal(record.status, 'lost');
      assert.equal(record.exit_status, null);
      assert.ok((record.samples ?? 0) > 0);
      assert.deepEqual(runDirectories(site), []);
    });

    it('is written as lost by the host’s next sampler where sampler and shepherd were killed', async (t) => {
      const site = newSite(t);
      const hold = heldJob(site);
      const job = startJob(site, hold.command);
      const pid = await sampler(job);
      await job.step('start');
      process.kill(pid, 'SIGKILL');
      job.killShepherd();
      hold.letGo();
      await job.ended;
      assert.equal(runDirectories(site).length, 1);
      await runSampled(site, 100);
      const record = await delivered(site, job);
      assert.equal(record.status, 'lost');
      assert.deepEqual(runDirectories(site), []);
    });
  },
);

describe(
  'a record while the configuration can’t be read',
  { skip: shepherdObstacle() ?? false, concurrency: 2 },
  () => {
    const spoilings: readonly (readonly [string, (path: string) => void])[] = [
      ['gone', rmSync],
      ['broken', (path) => writeFileSync(path, 'cluster = "te\n')],
    ];
    const deaths: readonly (readonly [string, (job: Job) => Promise<void>])[] = [
      ['', () => Promise.resolve()],
      [', its sampler killed', async (job) => void process.kill(await sampler(job), 'SIGKILL')],
    ];
    for (const [how, spoil] of spoilings)
      for (const [also, meet] of deaths)
        it(`waits, and has the cluster's name when delivered (configuration ${how}${also})`, async (t) => {
          const site = newSite(t);
          const good = readFileSync(site.settings);
          spoil(site.settings);
          const hold = heldJob(site);
          const job = startJob(site, hold.command);
          await letGoSampled(job, hold, 400);
          await meet(job);
          assertHarmless(await job.ended);
          await quiet(site);
          assert.equal(existsSync(site.accounting), false);
          writeFileSync(site.settings, good);
          await runJob(site, ['/bin/true']);
          const record = await delivered(site, job);
          assert.equal(record.cluster, 'test');
          assert.equal(record.trust, also === '' ? 'root' : 'usage');
          assert.deepEqual(runDirectories(site), []);
        });
  },
);

describe('a job whose state directory can’t be used', { skip: shepherdObstacle() ?? false, concurrency: 2 }, () => {
  async function assertWorks(t: TestContext, spoil: (site: Site) => void): Promise<JobRecord> {
    const site = newSite(t);
    spoil(site);
    const { job, steps } = await runSampled(site, 600);
    assertHarmless(steps);
    const record = await delivered(site, job);
    assert.equal(record.trust, 'root');
    assert.equal(record.exit_status, 3);
    assert.deepEqual(runDirectories(site), []);
    return record;
  }

  it('is sampled and delivered where the directory is a file', (t) =>
    assertWorks(t, ({ state }) => {
      rmSync(state, { recursive: true });
      writeFileSync(state, '');
    }));

  for (const blocks of [0, 1, 2, 3, 8])
    it(`is sampled and delivered where the directory has ${blocks} free blocks`, async (t) => {
      const { samples, status } = await assertWorks(t, ({ state }) => {
        execFileSync('mount', ['-t', 'tmpfs', '-o', 'size=256k,mode=755', 'none', state]);
        t.after(() => execFileSync('umount', ['-l', state]));
        const fill = join(state, 'fill');
        spawnSync('sh', ['-c', 'cat /dev/zero >"$1"', 'sh', fill]);
        truncateSync(fill, statSync(fill).size - 4096 * blocks);
      });
      assert.ok((samples ?? 0) > 0);
      assert.equal(status, 'finished');
    });

  it('is sampled and delivered where node.db is no database', (t) =>
    assertWorks(t, ({ state }) => {
      writeFileSync(join(state, 'node.db'), 'not a database, and long enough to be told from one'.repeat(99));
    }));
});

describe('a job with resource limits', { skip: shepherdObstacle() ?? false, concurrency: 3 }, () => {
  async function sampled(site: Site, ...shepherd: readonly string[]): Promise<JobRecord> {
    const { job, steps } = await runSampled(site, 1000, { shepherd });
    assertHarmless(steps);
    const record = await delivered(site, job);
    assert.equal(record.exit_status, 3);
    assert.ok((record.samples ?? 0) > 0);
    return record;
  }

  it('has a sampler in small mode with 300 MiB of address space, or the least that Node needs', async (t) => {
    const room = Math.max(300, addressSpaceNeeded().small) * MIB;
    const record = await sampled(newSite(t), limit(Rlimit.AS, room));
    assert.equal(record.sampler?.mode, 'small');
    assert.match(notesOf(record), /small mode/);
  });

  it('has a sampler in full mode with a soft limit of 60 MiB, which is raised to the hard limit', async (t) => {
    const record = await sampled(newSite(t), limit(Rlimit.AS, 8192 * MIB, 60 * MIB));
    assert.equal(record.sampler?.mode, 'full');
  });

  it('is not sampled with 50 MiB of address space, and the record says why', async (t) => {
    const site = newSite(t);
    const job = startJob(site, sleeping(0.4), { shepherd: [limit(Rlimit.AS, 50 * MIB)] });
    assertHarmless(await job.ended);
    assert.equal(existsSync(join(site.state, 'run', job.key, 'copied')), true);
    await runSampled(site, 100);
    const record = await delivered(site, job);
    assert.equal(record.status, 'unsampled');
    assert.equal(record.trust, 'usage');
    assert.equal(record.exit_status, 3);
    assert.equal(record.samples, null);
    assert.match(notesOf(record), /limit of 51200 KiB/);
    assert.deepEqual(runDirectories(site), []);
  });

  it('has its record in record.json until the next job, with files of at most 64 KiB', async (t) => {
    const site = newSite(t);
    const { job, steps } = await runSampled(site, 1000, { shepherd: [limit(Rlimit.FSIZE, 64 * 1024)] });
    assertHarmless(steps);
    assert.ok(existsSync(join(site.state, 'run', job.key, 'record.json')));
    await runSampled(site, 100);
    const record = await delivered(site, job);
    assert.equal(record.trust, 'root');
    assert.ok((record.samples ?? 0) > 0);
    assert.match(notesOf(record), /file size limit/);
    assert.equal(nodeRecord(site, job.key).exit_status, 3);
    assert.deepEqual(runDirectories(site), []);
  });

  it('still gets a record with files of at most 15 KiB', async (t) => {
    const site = newSite(t);
    const { job, steps } = await runSampled(site, 1000, { shepherd: [limit(Rlimit.FSIZE, 15 * 1024)] });
    assertHarmless(steps);
    await runSampled(site, 100);
    assert.equal((await delivered(site, job)).exit_status, 3);
    assert.deepEqual(runDirectories(site), []);
  });

  it('has a sampler in full mode with 100 descriptors', async (t) => {
    const record = await sampled(newSite(t), limit(Rlimit.NOFILE, 100));
    assert.equal(record.sampler?.mode, 'full');
  });

  it('is not sampled with 20 descriptors, and the record says why', async (t) => {
    const site = newSite(t);
    const job = startJob(site, sleeping(0.4), { shepherd: [limit(Rlimit.NOFILE, 20)] });
    assertHarmless(await job.ended);
    await runSampled(site, 100);
    const record = await delivered(site, job);
    assert.equal(record.status, 'unsampled');
    assert.match(notesOf(record), /20 descriptors/);
  });

  it('is unharmed where its user may start no more processes', async (t) => {
    const site = newSite(t);
    const job = startJob(site, sleeping(0.4), { shepherd: [limit(NPROC, 1)] });
    assertHarmless(await job.ended);
    await quiet(site);
  });

  it('is sampled by one sampler after another with 2 s of CPU time for each', async (t) => {
    const site = newSite(t, { settings: ['interval = 0.05'] });
    const [begun, enough] = [join(site.directory, 'begun'), join(site.directory, 'enough')];
    spawnSync('mkfifo', [enough]);
    // The state of so many processes, which is handed over, exceeds a socket's buffer.
    const most = 500;
    // How soon the first sampler has used half of the limit depends on the machine: the job waits for the hand-over.
    const script = [
      `sleep 3000 > ${enough} & i=1`,
      `while [ $i -lt ${most} ]; do sleep 3000 & i=$((i+1)); done`,
      `: > ${begun}`,
      `read line < ${enough}`,
      'kill $(jobs -p)',
      'exit 3',
    ];
    const job = startJob(site, ['/bin/sh', '-c', script.join('\n')], { shepherd: [limit(Rlimit.CPU, 2)] });
    const first = await sampler(job);
    await until(() => {
      const now = job.sampler();
      return now !== null && now !== first ? now : null;
    }, 'a second sampler');
    const handedOver = Date.now();
    await until(() => existsSync(begun), 'all processes');
    await sampledSince(site, job, Date.now());
    writeFileSync(enough, 'enough\n');
    assertHarmless(await job.ended);
    await quiet(site);
    const record = await delivered(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.equal(record.exit_status, 3);
    assert.doesNotMatch(notesOf(record), /could not be used/);
    assert.ok((record.max_processes ?? 0) > most);
    const processes = record.processes ?? 0;
    assert.ok(processes > most && processes < most + 30, `${processes} processes`);
    assert.ok((record.sampler?.cpu_seconds ?? 0) > 1);
    const samples = nodeSamples(site, job.key);
    const lastMs = Date.parse(record.started_at ?? '') + (samples.at(-1)?.at ?? 0);
    assert.ok(lastMs > handedOver, 'no sample of the second sampler');
    const gaps = samples.map((sample, index) => sample.at - (samples[index - 1]?.at ?? sample.at));
    assert.ok(Math.max(...gaps) < 60_000, `a hole of ${Math.max(...gaps)} ms`);
  });
});

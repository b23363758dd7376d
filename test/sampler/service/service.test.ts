import assert from 'node:assert/strict';
import { spawn, spawnSync } from 'node:child_process';
import {
  chmodSync,
  chownSync,
  copyFileSync,
  existsSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  writeFileSync,
} from 'node:fs';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { describe } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import { sampleConfig } from '../../gridengine/spool-samples';
import type { JobRecord } from '../../../src/record/record';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { Rlimit } from '../../../src/native/libc';
import {
  heldJob,
  it,
  lapse,
  letGoSampled,
  lookedAt,
  nodeRecord,
  nodeSamples,
  runningAt,
  shepherdObstacle,
  startJob,
  type Held,
  type Job,
  type JobOptions,
  type Site,
} from '../fake-shepherd';
import { until } from '../../support/until';
import { nodeSite, servicePidOf, startService } from './node-site';

const MIB = 1024 * 1024;
/** The lines of our hooks in `config`. */
const HOOKED = {
  prolog: 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/current/hooks/prolog.sh $job_id $ja_task_id',
  epilog: 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/current/hooks/epilog.sh $job_id $ja_task_id',
};

async function endService(site: Site, pid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  process.kill(pid, signal);
  await until(() => servicePidOf(site) === null, 'the end of the service');
}

/** Asserts that the record has the CPU time of the shepherd's `usage`. */
function assertCpu(job: Job, record: JobRecord): void {
  const usage = readFileSync(join(job.spool, 'usage'), 'utf8');
  const seconds = ['ru_utime', 'ru_stime']
    .map((key) => Number(new RegExp(`^${key}=(.*)$`, 'm').exec(usage)?.[1]))
    .reduce((sum, value) => sum + value);
  assert.ok(seconds > 0.2, `the job took ${seconds} s`);
  const cpu = record.cpu_seconds ?? 0;
  assert.ok(cpu > seconds - 0.05 && cpu < seconds + 0.15, `${cpu} s of CPU, and ${seconds} s are right`);
}

/** A held job that uses a second of CPU time first, in a child that it waits for. */
function workingJob(site: Site): Held & { readonly worked: () => Promise<unknown> } {
  const done = join(site.directory, `worked-${works++}`);
  const work = `sh -c 'ulimit -c 0; ulimit -t 1; while :; do :; done' 2>'${done}.err'; sleep 600 & : >'${done}'`;
  return { ...heldJob(site, 'kill $!; exit 3', work), worked: () => until(() => existsSync(done), 'the work') };
}
let works = 0;

function recordsOf(site: Site, job: number, count = 1): Promise<readonly JobRecord[]> {
  return until(
    async () => {
      try {
        const store = openSqliteReader(site.accounting);
        const { records } = await store.job({ job_id: job });
        await store.close();
        const finished = records.map(({ record }) => record).filter(({ status }) => status !== 'running');
        return finished.length >= count && finished;
      } catch {
        // The first record makes the file.
        return null;
      }
    },
    `${count} records of job ${job}`,
    100,
  );
}

async function recordOf(site: Site, job: Job): Promise<JobRecord> {
  const [record] = await recordsOf(site, job.number);
  assert.ok(record !== undefined);
  return record;
}

const start = (site: Site, command: readonly string[], options: JobOptions = {}): Job =>
  startJob(site, command, { ...options, config: { ...HOOKED, ...options.config } });

const sampled = (site: Site, job: Job): Promise<true> =>
  until(() => {
    try {
      return nodeSamples(site, job.key).length > 2;
    } catch {
      return null;
    }
  }, 'samples in node.db');

describe('the service of the node scope', { skip: shepherdObstacle() ?? false, concurrency: 3 }, () => {
  it('samples a job from its prolog to its epilog', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const hold = heldJob(site);
    const job = start(site, hold.command);
    await sampled(site, job);
    hold.letGo();
    const steps = await job.ended;
    assert.deepEqual([steps.prolog?.status, steps.job?.status, steps.epilog?.status], [0, 3, 0]);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.equal(record.exit_status, 3);
    const { samples } = record;
    assert.ok(samples !== null && samples > 2, `${samples ?? 0} samples`);
    // A look takes some milliseconds of the share that is the job's.
    assert.ok((record.sampler?.cpu_seconds ?? Infinity) < 0.2 * samples);
    assert.equal(servicePidOf(site), service);
    assert.deepEqual(
      record.notes.filter((note) => !note.includes('proved peaks')),
      [],
    );
  });

  it('finds jobs without hooks and slave tasks in active_jobs', async (t) => {
    const site = nodeSite(t);
    await startService(site);
    const holds = [heldJob(site), heldJob(site), heldJob(site)] as const;
    const [one, two, three] = holds.map(({ command }) => command);
    const lone = startJob(site, one ?? [], { hookless: true, config: { prolog: 'none', epilog: 'none' } });
    // As on a slave host, the job's directory has only tasks in it.
    const task = startJob(site, two ?? [], { job: 777_001, peTask: '1.node1' });
    const second = startJob(site, three ?? [], { job: 777_001, peTask: '2.node1' });
    for (const [index, job] of [lone, task, second].entries()) {
      await sampled(site, job);
      holds[index]?.letGo();
    }
    await Promise.all([lone.ended, task.ended, second.ended]);
    const record = await recordOf(site, lone);
    assert.equal(record.status, 'finished');
    assert.equal(record.exit_status, 3);
    assert.equal(record.pe_task_id, null);
    const records = await recordsOf(site, 777_001, 2);
    assert.deepEqual(records.map((one) => one.pe_task_id).sort(), ['1.node1', '2.node1']);
    for (const one of records) {
      assert.equal(one.status, 'finished');
      assert.equal(one.exit_status, 3);
      assert.equal(one.trust, 'root');
      assert.equal(one.job_name, null);
      assert.deepEqual(
        one.notes.filter((note) => note.includes('forged')),
        [],
      );
      assert.ok((one.samples ?? 0) > 2, `${one.pe_task_id ?? ''}: ${one.samples ?? 0} samples`);
    }
  });

  it('samples a job that was running before the service', async (t) => {
    const site = nodeSite(t);
    const before = Date.now();
    const hold = heldJob(site);
    const job = startJob(site, hold.command, { hookless: true, config: { prolog: 'none', epilog: 'none' } });
    await job.step('start');
    const begun = Date.now();
    await delay(300);
    await startService(site);
    const least = ((await letGoSampled(job, hold, 1000)) - begun) / 1000;
    await job.ended;
    const most = (Date.now() - before) / 1000;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.peak_rss?.proved, false);
    assert.ok((record.unobserved_start_seconds ?? 0) > 0.2);
    const took = record.wallclock_seconds ?? 0;
    assert.ok(took > least - 1 && took < most + 1, `${took} s is not in [${least}, ${most}]`);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`loses nothing and counts nothing twice when it is ended by ${signal} and started again`, async (t) => {
      const site = nodeSite(t);
      const first = await startService(site);
      const work = workingJob(site);
      const made = Date.now();
      const job = start(site, work.command);
      await job.step('start');
      const begun = Date.now();
      await work.worked();
      // Samples and state are saved every few seconds.
      await sampled(site, job);
      await until(
        () => existsSync(join(site.runDir, 'resume', `${job.key}.json`)),
        'what is kept for the next service',
      );
      await lapse(1500);
      const before = (Date.now() - made) / 1000;
      await endService(site, first, signal);
      await startService(site);
      const least = ((await letGoSampled(job, work, 1500)) - begun) / 1000;
      const steps = await job.ended;
      assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0]);
      const [record, ...others] = await recordsOf(site, job.number);
      assert.ok(record !== undefined);
      assert.equal(others.length, 0);
      assert.equal(record.status, 'finished');
      assertCpu(job, record);
      // sh, its child, sleep
      assert.ok((record.processes ?? 0) >= 3 && (record.processes ?? 0) <= 6, `${record.processes ?? 0} processes`);
      assert.ok((record.wallclock_seconds ?? 0) > least - 1);
      assert.ok((record.unobserved_start_seconds ?? Infinity) < before, 'the beginning is not forgotten');
    });

  it('keeps the samples of a service whose state can’t be used, over another restart, too', async (t) => {
    const site = nodeSite(t);
    const first = await startService(site);
    const hold = heldJob(site);
    const job = start(site, hold.command);
    await lookedAt(job);
    await endService(site, first, 'SIGTERM');
    const { samples } = nodeRecord(site, job.key);
    writeFileSync(join(site.runDir, 'resume', `${job.key}.json`), '{}');
    const second = await startService(site);
    await lookedAt(job);
    await endService(site, second, 'SIGTERM');
    const both = nodeRecord(site, job.key);
    assert.match(both.notes.join(' '), /An earlier sampler of this job died/);
    assert.ok((both.samples ?? 0) > (samples ?? 0));
    await startService(site);
    await letGoSampled(job, hold, 500);
    await job.ended;
    const record = await recordOf(site, job);
    assert.match(record.notes.join(' '), /An earlier sampler of this job died/);
    assert.ok((record.samples ?? 0) >= (both.samples ?? 0), `${record.samples} samples`);
  });

  it('hands its jobs to samplers of their own when the scope has changed', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const work = workingJob(site);
    const made = Date.now();
    const job = start(site, work.command);
    await lookedAt(job);
    await work.worked();
    await lapse(500);
    const before = (Date.now() - made) / 1000;
    const text = readFileSync(site.settings, 'utf8').replace('scope = "node"', 'scope = "job"');
    writeFileSync(site.settings, text);
    await endService(site, service, 'SIGTERM');
    await until(() => {
      const pid = job.sampler();
      return pid === service ? null : pid;
    }, 'a sampler of its own');
    await lapse(500);
    work.letGo();
    await job.ended;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assertCpu(job, record);
    assert.ok((record.unobserved_start_seconds ?? Infinity) < before, 'the beginning is not forgotten');
  });

  it('samples a job whose limit is too low for a sampler of its own', async (t) => {
    const site = nodeSite(t);
    await startService(site);
    const hold = heldJob(site);
    const job = start(site, hold.command, { shepherd: [`limit=${Rlimit.AS}:${60 * MIB}:${60 * MIB}`] });
    await sampled(site, job);
    hold.letGo();
    const steps = await job.ended;
    assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0]);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.ok((record.samples ?? 0) > 2);
  });

  it('is replaced by a sampler of the job’s own where it does not run', async (t) => {
    const site = nodeSite(t);
    const hold = heldJob(site);
    const job = start(site, hold.command);
    await sampled(site, job);
    hold.letGo();
    await job.ended;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.ok((record.samples ?? 0) > 2);
  });

  it('can be killed during a job: the epilog ends in time, and the record has the exit status', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const hold = heldJob(site);
    const job = start(site, hold.command);
    await job.step('start');
    await lookedAt(job);
    await delay(500);
    await endService(site, service, 'SIGKILL');
    hold.letGo();
    const steps = await job.ended;
    assert.equal(steps.epilog?.status, 0);
    // The epilog ends itself after 5 s; the rest allows for a busy machine.
    assert.ok(steps.epilog.ms < 20_000, `${steps.epilog.ms} ms`);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.exit_status, 3);
  });

  it('writes a running job to the accounting DB', async (t) => {
    const site = nodeSite(t, { settings: ['heartbeat = 1'] });
    // The first heartbeat is due with the first save of progress.
    writeFileSync(join(site.state, 'heartbeat'), '');
    await startService(site);
    // The service saves a job's progress every 20 s.
    const hold = heldJob(site);
    const job = start(site, hold.command);
    const heard = await until(async () => {
      const records = await runningAt(site).catch(() => []);
      return records.length > 0 && records;
    }, 'the heartbeat');
    assert.deepEqual(
      heard.map((record) => [record.job_id, record.status, record.granted_hosts]),
      [[job.number, 'running', [{ host: 'node1', slots: 2 }]]],
    );
    hold.letGo();
    await job.ended;
    assert.equal((await recordOf(site, job)).status, 'finished');
  });

  it('runs once: a second one exits at once', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const second = spawn('/bin/sh', ['-p', join(site.hooks, 'sampler.sh')], { stdio: 'ignore' });
    const status = await new Promise((resolve) => second.once('exit', resolve));
    assert.equal(status, 0);
    assert.equal(servicePidOf(site), service);
  });

  it('follows no job in an ordinary user’s spool directory, configured or of a process named execd', async (t) => {
    const site = nodeSite(t);
    const user = 65_534;
    const spool = join(site.directory, 'users', hostname());
    const forged = join(spool, 'active_jobs', '666001.1');
    mkdirSync(forged, { recursive: true });
    const execd = join(site.directory, 'users', 'sge_execd');
    copyFileSync('/bin/sleep', execd);
    chmodSync(execd, 0o755);
    spawnSync('chown', ['-R', `${user}:${user}`, join(site.directory, 'users')]);
    const asUser = { uid: user, gid: user, stdio: 'ignore' } as const;
    const fake = spawn(execd, ['600'], { ...asUser, cwd: spool });
    const shepherd = spawn('/bin/sleep', ['600'], { ...asUser, cwd: forged });
    t.after(() => [fake, shepherd].map((child) => child.kill('SIGKILL')));
    const write = (name: string, text: string): void => {
      writeFileSync(join(forged, name), text);
      chownSync(join(forged, name), user, user);
    };
    write('pid', `${shepherd.pid ?? 0}\n`);
    write('config', sampleConfig({ job_id: '666001', job_owner: 'root', prolog: 'none', epilog: 'none' }));
    write('job_pid', `${shepherd.pid ?? 0}\n`);
    // First found by the process, then configured.
    const text = readFileSync(site.settings, 'utf8').replace(/^execd_spool_dir.*\n/m, '');
    for (const configured of ['', `execd_spool_dir = "${join(site.directory, 'users')}"\n`]) {
      writeFileSync(site.settings, text + configured);
      const pid = await startService(site);
      const hold = heldJob(site);
      const job = start(site, hold.command);
      // By then the service has looked at active_jobs and at its processes.
      await letGoSampled(job, hold, 1000);
      await job.ended;
      assert.equal((await recordOf(site, job)).status, 'finished');
      assert.ok(!readdirSync(join(site.state, 'run')).some((name) => name.startsWith('666001.')), 'a forged run');
      await endService(site, pid, 'SIGTERM');
    }
  });
});

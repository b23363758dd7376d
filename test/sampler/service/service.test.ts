import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, it, type TestContext } from 'node:test';
import { setTimeout as delay } from 'node:timers/promises';
import type { JobRecord } from '../../../src/sampler/record';
import { openSqliteReader } from '../../../src/accounting/sqlite/sqlite-store';
import { Rlimit } from '../../../src/native/libc';
import { servicePid } from '../../../src/sampler/service/service-directory';
import {
  newSite,
  nodeSamples,
  shepherdObstacle,
  startJob,
  until,
  type Job,
  type JobOptions,
  type Site,
  type SiteOptions,
} from '../fake-shepherd';

const MIB = 1024 * 1024;
/** Our hooks' lines, as `config` has them. */
const HOOKED = {
  prolog: 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/current/hooks/prolog.sh $job_id $ja_task_id',
  epilog: 'root@/usr/bin/env -i /bin/sh -p /opt/qmemacct/current/hooks/epilog.sh $job_id $ja_task_id',
};

function nodeSite(t: TestContext, options: SiteOptions = {}): Site {
  const site = newSite(t, {
    armWait: 0.05,
    ...options,
    settings: ['scope = "node"', 'scan_interval = 5', ...(options.settings ?? [])],
    conf: { scope: 'node', ...options.conf },
  });
  mkdirSync(join(site.directory, 'active_jobs'), { recursive: true });
  const text = readFileSync(site.settings, 'utf8');
  writeFileSync(site.settings, `${text}execd_spool_dir = "${join(site.directory, 'spool')}"\n`);
  return site;
}

const placesOf = (site: Site): { readonly run_dir: string } => ({ run_dir: site.runDir });

/** Starts the service as its unit does; resolves to its pid when it is there. */
async function startService(site: Site): Promise<number> {
  spawn('/bin/sh', ['-p', join(site.hooks, 'sampler.sh')], {
    stdio: 'ignore',
    detached: true,
    env: { PATH: '/usr/bin:/bin' },
  }).unref();
  return until('the service', () => servicePid(placesOf(site)));
}

async function endService(site: Site, pid: number, signal: 'SIGTERM' | 'SIGKILL'): Promise<void> {
  process.kill(pid, signal);
  await until('the end of the service', () => servicePid(placesOf(site)) === null);
}

/** What the kernel says that the job took, by the shepherd's `usage`. */
function assertCpu(job: Job, record: JobRecord): void {
  const usage = readFileSync(join(job.spool, 'usage'), 'utf8');
  const seconds = ['ru_utime', 'ru_stime']
    .map((key) => Number(new RegExp(`^${key}=(.*)$`, 'm').exec(usage)?.[1]))
    .reduce((sum, value) => sum + value);
  assert.ok(seconds > 0.2, `the job took ${seconds} s`);
  const cpu = record.cpu_seconds ?? 0;
  assert.ok(cpu > seconds - 0.05 && cpu < seconds + 0.15, `${cpu} s of CPU, and ${seconds} s are right`);
}

const sleeping = (seconds: number): readonly string[] => ['/bin/sh', '-c', `sleep ${seconds}; exit 3`];
/** Uses `cpu` seconds of CPU time, in children that it waits for, and then sleeps. */
const working = (cpu: number, seconds: number): readonly string[] => [
  '/bin/bash',
  '-c',
  `timeout ${cpu} sh -c 'while :; do :; done'; sleep ${seconds}; exit 3`,
];

async function recordsOf(site: Site, job: number, count = 1): Promise<readonly JobRecord[]> {
  for (const deadline = Date.now() + 30_000; Date.now() < deadline;) {
    await delay(100);
    try {
      const store = openSqliteReader(site.accounting);
      const { records } = await store.job({ job_id: job });
      await store.close();
      const finished = records.map(({ record }) => record).filter(({ status }) => status !== 'running');
      if (finished.length >= count) return finished;
    } catch {
      // The first record makes the file.
    }
  }
  throw new Error(`job ${job}: no ${count} records came`);
}

async function recordOf(site: Site, job: Job): Promise<JobRecord> {
  const [record] = await recordsOf(site, job.number);
  assert.ok(record !== undefined);
  return record;
}

const start = (site: Site, command: readonly string[], options: JobOptions = {}): Job =>
  startJob(site, command, { ...options, config: { ...HOOKED, ...options.config } });

const sampled = (site: Site, job: Job): Promise<true> =>
  until('samples in node.db', () => {
    try {
      return nodeSamples(site, job.key).length > 2 ? true : null;
    } catch {
      return null;
    }
  });

describe('the service of the node scope', { skip: shepherdObstacle() ?? false, concurrency: 3 }, () => {
  it('takes a job from its prolog, hears it from its first fork, and answers its epilog', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const job = start(site, sleeping(1));
    const steps = await job.ended;
    assert.deepEqual([steps.prolog?.status, steps.job?.status, steps.epilog?.status], [0, 3, 0]);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.equal(record.exit_status, 3);
    assert.ok((record.samples ?? 0) > 5, `${record.samples ?? 0} samples`);
    assert.ok((record.sampler?.cpu_seconds ?? 9) < 2);
    assert.equal(servicePid(placesOf(site)), service);
    assert.deepEqual(
      record.notes.filter((note) => !note.includes('proved peaks')),
      [],
    );
  });

  it('finds jobs without hooks, and tasks of parallel jobs, by active_jobs', async (t) => {
    const site = nodeSite(t);
    await startService(site);
    const lone = startJob(site, sleeping(0.8), { hookless: true, config: { prolog: 'none', epilog: 'none' } });
    // As on a slave host: nothing but tasks in the job's directory.
    const task = startJob(site, sleeping(0.8), { job: 777_001, peTask: '1.node1' });
    const second = startJob(site, sleeping(0.5), { job: 777_001, peTask: '2.node1' });
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

  it('takes up jobs that were running before it', async (t) => {
    const site = nodeSite(t);
    const job = startJob(site, sleeping(3), { hookless: true, config: { prolog: 'none', epilog: 'none' } });
    await job.step('start');
    await delay(300);
    await startService(site);
    await job.ended;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.peak_rss?.proved, false);
    assert.ok((record.unobserved_start_seconds ?? 0) > 0.2);
    assert.ok(Math.abs((record.wallclock_seconds ?? 0) - 3) < 1.5, `${record.wallclock_seconds ?? 0} s`);
  });

  for (const signal of ['SIGTERM', 'SIGKILL'] as const)
    it(`loses nothing and counts nothing twice when it is ended by ${signal} and started again`, async (t) => {
      const site = nodeSite(t);
      const first = await startService(site);
      const job = start(site, working(1, 14));
      await job.step('start');
      // Saved once in so many seconds.
      await sampled(site, job);
      await delay(1500);
      await endService(site, first, signal);
      await delay(300);
      await startService(site);
      const steps = await job.ended;
      assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0]);
      const [record, ...others] = await recordsOf(site, job.number);
      assert.ok(record !== undefined);
      assert.equal(others.length, 0);
      assert.equal(record.status, 'finished');
      assertCpu(job, record);
      // bash, timeout, sh, sleep
      assert.ok((record.processes ?? 0) >= 3 && (record.processes ?? 0) <= 6, `${record.processes ?? 0} processes`);
      assert.ok((record.wallclock_seconds ?? 0) > 14);
      assert.ok((record.unobserved_start_seconds ?? 9) < 1, 'the beginning is not forgotten');
    });

  it('hands its jobs to samplers of their own when the scope has changed', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const job = start(site, working(1, 4));
    await job.step('start');
    await delay(1500);
    const text = readFileSync(site.settings, 'utf8').replace('scope = "node"', 'scope = "job"');
    writeFileSync(site.settings, text);
    await endService(site, service, 'SIGTERM');
    const sampler = await until('a sampler of its own', () => {
      const pid = job.sampler();
      return pid === service ? null : pid;
    });
    assert.notEqual(sampler, service);
    await job.ended;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assertCpu(job, record);
    assert.ok((record.unobserved_start_seconds ?? 9) < 1);
  });

  it('measures jobs under limits that no sampler of theirs could live with', async (t) => {
    const site = nodeSite(t);
    await startService(site);
    const job = start(site, sleeping(1), { shepherd: [`limit=${Rlimit.AS}:${60 * MIB}:${60 * MIB}`] });
    const steps = await job.ended;
    assert.deepEqual([steps.prolog?.status, steps.epilog?.status], [0, 0]);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.trust, 'root');
    assert.ok((record.samples ?? 0) > 3);
  });

  it('is not waited for where it does not run: each job has a sampler of its own', async (t) => {
    const site = nodeSite(t);
    const job = start(site, sleeping(1));
    await job.ended;
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.ok((record.samples ?? 0) > 3);
  });

  it('dies in mid-job without being started again: the epilog leaves what it can, in time', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const job = start(site, sleeping(2));
    await job.step('start');
    await delay(500);
    await endService(site, service, 'SIGKILL');
    const steps = await job.ended;
    assert.equal(steps.epilog?.status, 0);
    assert.ok(steps.epilog.ms < 5000, `${steps.epilog.ms} ms`);
    const record = await recordOf(site, job);
    assert.equal(record.status, 'finished');
    assert.equal(record.exit_status, 3);
  });

  it('tells the accounting DB of a job that runs', async (t) => {
    const site = nodeSite(t, { settings: ['heartbeat = 1'] });
    // Due with the first save of progress.
    writeFileSync(join(site.state, 'heartbeat'), '');
    await startService(site);
    const job = start(site, sleeping(20));
    let heard: readonly JobRecord[] = [];
    const deadline = Date.now() + 19_000;
    while (heard.length === 0 && Date.now() < deadline) {
      await delay(200);
      if (!existsSync(site.accounting)) continue;
      const store = openSqliteReader(site.accounting);
      heard = (await store.running({ since: 0 })).map(({ record }) => record);
      await store.close();
    }
    assert.deepEqual(
      heard.map((record) => [record.job_id, record.status, record.granted_hosts]),
      [[job.number, 'running', [{ host: 'node1', slots: 2 }]]],
    );
    await job.ended;
    assert.equal((await recordOf(site, job)).status, 'finished');
  });

  it('is one: a second that is started leaves at once', async (t) => {
    const site = nodeSite(t);
    const service = await startService(site);
    const second = spawn('/bin/sh', ['-p', join(site.hooks, 'sampler.sh')], { stdio: 'ignore' });
    const status = await new Promise((resolve) => second.once('exit', resolve));
    assert.equal(status, 0);
    assert.equal(servicePid(placesOf(site)), service);
  });
});

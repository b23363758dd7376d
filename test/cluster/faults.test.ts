import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { cpSync, chmodSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { describe, it } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { SQLITE_PACKAGE } from '../../src/native/sqlite';
import { programPath } from '../../src/base/programs';
import { programFiles } from '../../src/cli/install/program-files';
import {
  assertHolds,
  assertNoQueueErrors,
  burnerCommand,
  holds,
  isSampled,
  mib,
  truthOf,
  LONGEST_HOLD_MS,
  withSite,
  gateFor,
  type Site,
} from './site';
import { PROGRAM } from '../support/released';
import { until } from '../support/until';

const limits = { timeout: 2_000_000 };

interface Sampler {
  readonly pid: number;
  readonly host: string;
}

/** The sampler of a job, as soon as it runs. */
function samplerOf({ cell }: Site, job: string): Promise<Sampler> {
  return until(() => {
    for (const host of cell.execHosts) {
      const found = cell
        .processes(host)
        .find(({ command }) => command.includes('sampler/main.js') && command.includes(`job=${job} `));
      if (found !== undefined) return { pid: found.pid, host };
    }
    return null;
  }, `the sampler of job ${job}`);
}

/** Waits until the accounting DB has a heartbeat of the job with samples, one of them of at least so many bytes. */
const awaitHeartbeat = ({ product }: Site, job: string, bytes = 0): Promise<true> =>
  until(
    async () =>
      (await product.currentRecords(job)).some(({ record }) => (record.samples ?? 0) > 0 && holds(bytes)(record)),
    `a heartbeat of job ${job} with samples`,
  );

/** Longer than the jobs sleep on a busy machine, and shorter than a hook would hang that waits in vain. */
const MOST_SECONDS = 120;

async function killedSampler(site: Site): Promise<void> {
  const { cell, product } = site;
  const gate = gateFor(cell, 'gealice', 'killed');
  const script = burnerCommand('steady', 'killed.truth', { mib: 120, hold: LONGEST_HOLD_MS, until: gate.path });
  const job = await cell.submit('gealice', ['-N', 'killed', '-l', 'h_vmem=1G'], `${script}; exit 4`);
  await cell.waitRunning(job);
  const sampler = await samplerOf(site, job);
  await awaitHeartbeat(site, job, mib(120));
  process.kill(sampler.pid, 'SIGKILL');
  await sleep(1500);
  gate.open();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'killed.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.9);
  assert.equal(record.exit_status, 4);
  assert.equal(record.status, 'finished');
  assert.match(record.notes.join(' '), /sampler died/);
  assert.equal((await product.currentRecords(job)).length, 1);
}

const STATE = '/var/lib/qmemacct';

/** Runs jobs on a host with this mount over its state directory; each gets a sampled record after the unmount. */
async function jobsWithBrokenStateDirectory(site: Site, mount: (host: string) => Promise<unknown>): Promise<void> {
  const { cell, product } = site;
  const host = 'ge1';
  await mount(host);
  const jobs: string[] = [];
  try {
    for (let index = 0; index < 3; index++)
      jobs.push(
        await cell.submit('gealice', ['-q', `all.q@${host}`, '-N', `state${index}`, '-l', 'h_vmem=1G'], 'sleep 4'),
      );
    for (const job of jobs) {
      const [line] = await cell.waitFinished(job);
      assert.equal(line?.failed, '0');
      assert.ok(Number(line.ru_wallclock) <= MOST_SECONDS);
    }
    await assertNoQueueErrors(cell);
  } finally {
    await unmount(site, host, STATE);
  }
  await product.run(host, 'flush');
  for (const job of jobs) {
    const record = await product.record(job);
    const { samples, trust, status, notes } = record;
    assert.ok((samples ?? 0) > 0, `job ${job} was not sampled: ${samples} ${trust} ${status} ${notes.join(' ')}`);
    assert.equal(record.trust, 'root');
    assert.equal(record.status, 'finished');
    assert.equal((await product.currentRecords(job)).length, 1);
  }
}

/** Makes a directory read-only on one host, by a bind mount. */
async function mountReadOnly(site: Site, host: string, directory: string): Promise<void> {
  await site.cell.check(host, `cd / && mount --bind ${directory} ${directory}`);
  await changeMount(site, host, ['mount', '-o', 'remount,ro,bind', directory]);
}

async function unmount(site: Site, host: string, directory: string): Promise<void> {
  await changeMount(site, host, ['umount', directory]);
}

/** Runs a mount command until it succeeds: a process with a file open there, such as a deliverer, keeps the mount busy. */
async function changeMount({ cell }: Site, host: string, command: readonly string[]): Promise<void> {
  const processes = async (): Promise<string> => (await cell.on(host, ['fuser', '-vm', command.at(-1) ?? ''])).stderr;
  await until(async () => (await cell.on(host, command)).status === 0, processes, 200);
}

/** Runs jobs while the accounting DB is broken; after it is mended each job has one record. */
async function jobsWithBrokenAccounting(
  site: Site,
  breakIt: () => Promise<void> | void,
  mendIt: () => Promise<void> | void,
): Promise<void> {
  const { cell, product } = site;
  await breakIt();
  const jobs: string[] = [];
  try {
    for (let index = 0; index < 4; index++)
      jobs.push(await cell.submit('gebob', ['-N', `dead${index}`, '-l', 'h_vmem=1G'], 'sleep 0.5'));
    for (const job of jobs) {
      const [line] = await cell.waitFinished(job);
      assert.equal(line?.failed, '0');
      assert.ok(Number(line.ru_wallclock) <= MOST_SECONDS);
    }
    await assertNoQueueErrors(cell);
    // The DB is really broken: what waits can't be delivered. A sampler that still tries to deliver gives up first.
    let output = '';
    await until(
      async () => {
        const flushes = await Promise.all(cell.execHosts.map((host) => product.run(host, 'flush', '--patience', '0')));
        output = flushes.map(({ stdout }) => stdout).join('\n');
        return flushes.some(({ status }) => status === 3);
      },
      () => `a flush that can't deliver: ${output}`,
      500,
    );
  } finally {
    await mendIt();
  }
  for (const host of cell.execHosts) {
    const { status, stdout, stderr } = await product.run(host, 'flush');
    assert.equal(status, 0, `${host}: ${stdout}${stderr}`);
  }
  for (const job of jobs) {
    await product.record(job);
    assert.equal((await product.currentRecords(job)).length, 1);
  }
}

/** Loses the accounting DB, restores a copy that `backup` made before the jobs ran, and lets the nodes deliver again. */
async function restoredAccounting({ cell, product }: Site): Promise<void> {
  const { accounting } = product;
  const copy = `${accounting}.backup`;
  const copied = await product.run('ge1', 'backup', copy);
  assert.equal(copied.status, 0, copied.stderr);
  const jobs: string[] = [];
  for (let index = 0; index < 3; index++)
    jobs.push(await cell.submit('gebob', ['-N', `kept${index}`, '-l', 'h_vmem=1G'], 'sleep 0.5'));
  for (const job of jobs) await cell.waitFinished(job);
  const before = await Promise.all(jobs.map((job) => product.record(job)));
  const directory = dirname(accounting);
  await cell.check(
    'ge1',
    [
      `cp -a ${directory} ${directory}.new && rm -f ${directory}.new/${basename(accounting)}`,
      `cp -p ${copy} ${directory}.new/${basename(accounting)}`,
      `mv ${directory} ${directory}.lost && mv ${directory}.new ${directory}`,
    ].join(' && '),
  );
  for (const job of jobs) assert.deepEqual(await product.currentRecords(job), []);
  for (const host of cell.execHosts) {
    const { status, stderr } = await product.run(host, 'flush', '--since', '2h');
    assert.equal(status, 0, stderr);
  }
  for (const [index, job] of jobs.entries()) {
    assert.equal((await product.currentRecords(job)).length, 1);
    assert.deepEqual(await product.record(job), before[index]);
  }
}

/** Takes the DB's write lock in another process; what it resolves to releases the lock. */
async function holdLock(path: string): Promise<() => void> {
  const module = require.resolve(SQLITE_PACKAGE);
  const program = `const D=require(${JSON.stringify(module)});const d=new D(${JSON.stringify(path)});d.exec('BEGIN EXCLUSIVE');console.log('locked');process.stdin.once('data',()=>d.exec('COMMIT')).once('end',()=>process.exit())`;
  const holder = spawn(process.execPath, ['-e', program], { stdio: ['pipe', 'pipe', 'inherit'] });
  await new Promise((resolve) => holder.stdout.once('data', resolve));
  return () => void holder.stdin.end('release\n');
}

async function upgradeDuringJob(site: Site): Promise<void> {
  const { cell, product } = site;
  const gate = gateFor(cell, 'gealice', 'build');
  const script = burnerCommand('steady', 'build.truth', { mib: 90, hold: LONGEST_HOLD_MS, until: gate.path });
  const job = await cell.submit('gealice', ['-q', 'all.q@ge1', '-N', 'rebuilt', '-l', 'h_vmem=1G'], script);
  await cell.waitRunning(job);
  await samplerOf(site, job);
  const copy = join(cell.stateDir, 'another-build');
  for (const file of programFiles(PROGRAM)) cpSync(join(PROGRAM, file), join(copy, file));
  const prolog = join(copy, 'hooks', 'prolog.sh');
  writeFileSync(prolog, `${readFileSync(prolog, 'utf8')}# another build\n`);
  const words = ['install', '--node', '--yes', '--prefix', product.prefix, '--accounting', product.accounting];
  const before = await cell.check('ge1', `readlink ${product.prefix}/current`);
  const result = await cell.on('ge1', ['node', programPath('cli/main', copy), ...words]);
  assert.equal(result.status, 0, result.stderr + result.stdout);
  assert.notEqual(await cell.check('ge1', `readlink ${product.prefix}/current`), before);
  const sampled = gateFor(cell, 'gealice', 'sampled');
  const second = await cell.submit('gealice', ['-q', 'all.q@ge1', '-N', 'after', '-l', 'h_vmem=1G'], sampled.wait);
  await samplerOf(site, second);
  await until(
    () => isSampled(cell, second),
    () => `a sample of job ${second}`,
  );
  sampled.open();
  await cell.waitFinished(second);
  gate.open();
  await cell.waitFinished(job);
  const record = await product.record(job);
  const truth = truthOf(cell, 'gealice', 'build.truth');
  assertHolds(record.peak_rss, truth.rssSum, truth.uncertainty, 0.95);
  assert.equal(record.trust, 'root');
  assert.equal((await product.record(second)).trust, 'root');
}

async function killedShepherd(site: Site): Promise<void> {
  const { cell, product } = site;
  // Runs until some seconds after the end of its shepherd.
  const script = 'for i in $(seq 3000); do [ -d /proc/$PPID ] || break; sleep 0.2; done; sleep 3';
  const job = await cell.submit('gebob', ['-N', 'crash', '-r', 'n', '-l', 'h_vmem=1G'], script);
  await cell.waitRunning(job);
  const sampler = await samplerOf(site, job);
  await awaitHeartbeat(site, job);
  const shepherd = cell.processes(sampler.host).find(({ command }) => command.startsWith(`sge_shepherd-${job}`));
  assert.ok(shepherd !== undefined, 'no shepherd');
  process.kill(shepherd.pid, 'SIGKILL');
  await cell.waitFinished(job);
  const record = await product.record(job);
  assert.equal(record.status, 'lost');
  assert.ok((record.samples ?? 0) > 0);
  // The accounting line has no start time.
  await until(() => cell.accounting(job).length > 0, 'the accounting line', 100);
  assert.equal((await product.run('ge1', 'import', cell.layout.accounting)).status, 0);
  const attempts = await product.currentRecords(job);
  assert.deepEqual(
    attempts.map((one) => [one.record.status, one.record.failed, one.record.samples]),
    [['lost', 19, record.samples]],
  );
  await cell.clearErrors();
}

describe('faults on a real Grid Engine', () => {
  it('disturb no job and lose no record', limits, async (t) => {
    await withSite(t, { settings: 'delivery_patience = 2' }, async (site) => {
      const { accounting } = site.product;
      await t.test('when the sampler is killed during the job', () => killedSampler(site));
      await t.test('when the shepherd is killed, so that no epilog runs', () => killedShepherd(site));
      await t.test('when another build is installed during the job', () => upgradeDuringJob(site));
      await t.test('when the state directory is read-only', () =>
        jobsWithBrokenStateDirectory(site, (host) => mountReadOnly(site, host, STATE)),
      );
      for (const options of ['size=64k,mode=1777', 'size=1m,mode=755'])
        await t.test(`when the state directory is full (${options})`, () =>
          jobsWithBrokenStateDirectory(site, (host) =>
            site.cell.check(
              host,
              `mount -t tmpfs -o ${options} none ${STATE} && mkdir -m 700 ${STATE}/run; cat /dev/zero >${STATE}/fill; true`,
            ),
          ),
        );
      await t.test('when the state directory is empty and read-only', () =>
        jobsWithBrokenStateDirectory(site, (host) =>
          site.cell.check(host, `mount -t tmpfs -o size=64k,ro none ${STATE}`),
        ),
      );
      await t.test('when the accounting DB is locked for 60 s', () => {
        const begun = Date.now();
        let release = (): void => undefined;
        return jobsWithBrokenAccounting(
          site,
          async () => {
            release = await holdLock(accounting);
          },
          async () => {
            await sleep(Math.max(0, begun + 60_000 - Date.now()));
            release();
          },
        );
      });
      await t.test("when the accounting DB's directory is missing", () =>
        jobsWithBrokenAccounting(
          site,
          () => renameSync(join(accounting, '..'), `${join(accounting, '..')}.away`),
          () => {
            rmSync(join(accounting, '..'), { recursive: true, force: true });
            renameSync(`${join(accounting, '..')}.away`, join(accounting, '..'));
          },
        ),
      );
      await t.test("when the accounting DB's directory is read-only", () =>
        jobsWithBrokenAccounting(
          site,
          async () => {
            for (const host of site.cell.execHosts) await mountReadOnly(site, host, dirname(accounting));
          },
          async () => {
            for (const host of site.cell.execHosts) await unmount(site, host, dirname(accounting));
          },
        ),
      );
      await t.test('when the accounting DB is corrupted', () => {
        const good = `${accounting}.good`;
        return jobsWithBrokenAccounting(
          site,
          () => {
            cpSync(accounting, good, { preserveTimestamps: true });
            writeFileSync(accounting, Buffer.alloc(8192, 'not a database '));
          },
          async () => {
            const { uid, gid } = await import('node:fs').then(({ statSync }) => statSync(accounting));
            renameSync(good, accounting);
            (await import('node:fs')).chownSync(accounting, uid, gid);
            chmodSync(accounting, 0o640);
          },
        );
      });
      await t.test('when the accounting DB is lost and an older copy restored', () => restoredAccounting(site));
      await t.test('no queue instance is in error', () => assertNoQueueErrors(site.cell));
    });
  });
});
